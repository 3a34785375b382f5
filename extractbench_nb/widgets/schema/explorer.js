export default { render: treeView };
