"""What the offline judge knows about words: data only, no code that decides."""

from __future__ import annotations

STOP_WORDS = frozenset("a an the of and for in on at to by & de du des di la le et und y".split())
DROPPABLE = frozenset("a an from preprint abstract verlag".split())
# What a letter names a member of: Class A, Series A. There, "A" is no article.
DESIGNATORS = frozenset(
    """
    class series tranche exhibit appendix schedule annex attachment type group plan part section
    rule form level grade team final vitamin hepatitis influenza unit loan note notes heat flight
    pool division table figure item option phase zone region block building suite room shares
    """.split()
)
# Words after which a changed order changes the meaning.
DIRECTIONAL = frozenset("to from into by over than vs versus against".split())
# Where these stand for one another, giver and taker are exchanged.
GIVER_OR_TAKER = frozenset("to from by".split())
# Words that may be missing in a long text, or stand for one another there.
FUNCTION_WORDS = frozenset("that which who this these those such its their also hereby".split())
# Words after which 3.10 is the tenth part of 3, and not 3.1.
NUMBERED = frozenset(
    """
    v version release section article clause paragraph chapter exhibit schedule table figure
    python java node ruby php perl go kotlin swift django rails android ios macos windows ubuntu
    linux kernel cuda pytorch tensorflow postgresql mysql
    """.split()
)
NEGATIONS = frozenset(
    """
    not no never none without neither nor cannot cant wont dont doesnt didnt isnt arent wasnt
    shallnot except excluding unless nothing nobody hardly
    """.split()
)
# Words that carry meaning each time they occur.
MEANINGFUL = NEGATIONS | frozenset(
    """
    plus positive negative power lessthan morethan atleast atmost unequal plusminus approximately
    all some any each every both either only always must shall
    """.split()
)
NEGATIVE_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "mis", "de", "a", "anti", "no")

# Words that are one and the same wherever they stand, by the form they are kept in.
SYNONYMS = {
    variant: word
    for word, variants in {
        "university": "univ universite universitat universidad universita universidade",
        "department": "dept dep dpt",
        "institute": "inst instit",
        "laboratory": "lab labs laboratories",
        "st": "street saint str",
        "avenue": "ave av",
        "boulevard": "blvd",
        "road": "rd",
        "lane": "ln",
        "parkway": "pkwy",
        "terrace": "terr",
        "circle": "cir",
        "expressway": "expy",
        "apartment": "apt",
        "suite": "ste",
        "floor": "fl",
        "building": "bldg",
        "mount": "mt mountain",
        "fort": "ft",
        "highway": "hwy",
        "square": "sq",
        "conference": "conf",
        "symposium": "symp",
        "international": "intl internat",
        "national": "natl",
        "federal": "fed",
        "proceedings": "proc",
        "transactions": "trans",
        "volume": "vol vols",
        "edition": "edn",
        "editor": "eds editors",
        "pages": "pp page",
        "chapter": "chap ch",
        "section": "sec sect",
        "figure": "fig",
        "sr": "senior",
        "jr": "junior",
        "assistant": "asst",
        "executive": "exec",
        "manager": "mgr",
        "management": "mgmt mgt",
        "manufacturing": "mfg",
        "engineering": "eng engg",
        "engineer": "engr",
        "government": "govt",
        "technology": "technologies",
        "science": "sci sciences",
        "brothers": "bros",
        "hospital": "hosp",
        "college": "coll",
        "school": "sch",
        "academy": "acad",
        "association": "assn",
        "society": "soc",
        "director": "dir",
        "president": "pres",
        "information": "info",
        "approximately": "approx",
        "established": "est estimated",
        "present": "current currently now",
        "us": "usa",
        "workshop": "wksp",
        "agreement": "agmt agrmt",
        "financial": "fin",
        "services": "svcs",
        "center": "ctr centre",
        "ms": "msc",
        "bs": "bsc",
        "mens": "men man",
        "womens": "women woman ladies",
        "company": "co",
        "software": "sw",
        "professor": "prof",
        "quarter": "qtr",
        "years": "yrs yr",
        "months": "mos",
        "hours": "hrs hr",
        "degree": "degrees deg",
    }.items()
    for variant in variants.split()
}

# Abbreviations with more than one reading; decided by the word on the other side.
AMBIGUOUS = {
    "tech": ("technology", "technical", "technician"),
    "rep": ("representative", "report", "republic"),
    "dev": ("development", "developer"),
    "admin": ("administrative", "administration", "administrator"),
    "assoc": ("association", "associate", "associates"),
    "comp": ("computer", "computing"),
    "comm": ("communication", "communications", "committee", "commission"),
    "res": ("research", "resources"),
    "gen": ("general",),
    "cert": ("certificate", "certified", "certification"),
    "elec": ("electrical", "electronic"),
    "mech": ("mechanical", "mechanics"),
    "phys": ("physics", "physical"),
    "med": ("medical", "medicine"),
    "math": ("mathematics",),
    "maths": ("mathematics",),
    "stats": ("statistics",),
    "bio": ("biology",),
    "econ": ("economics",),
    "hon": ("honors", "honours", "honorable"),
    "hons": ("honors", "honours"),
    "jan": ("january",),
    "feb": ("february",),
    "reg": ("regional", "region", "registered"),
    "grp": ("group",),
    "intern": ("internship",),
    "corp": ("corporate",),
    "ops": ("operations",),
    "ed": ("edition", "editor", "education"),
    "dr": ("doctor", "drive"),
    "gov": ("governor", "government"),
    "rev": ("revenue", "review"),
    "dist": ("district",),
    "ext": ("extension",),
    "j": ("journal",),
    "pl": ("place",),
    "ct": ("court",),
    "n": ("north", "northern"),
    "s": ("south", "southern"),
    "e": ("east", "eastern"),
    "w": ("west", "western"),
    "ne": ("northeast",),
    "nw": ("northwest",),
    "se": ("southeast",),
    "sw": ("southwest",),
    "wm": ("william",),
    "chas": ("charles",),
    "geo": ("george",),
    "jas": ("james",),
    "thos": ("thomas",),
    "robt": ("robert",),
    "jos": ("joseph",),
    "benj": ("benjamin",),
    "edw": ("edward",),
    "fredk": ("frederick",),
}

LEGAL_SUFFIXES = {
    variant: suffix
    for suffix, variants in {
        "inc": "inc incorporated",
        "corp": "corp corporation",
        "company": "co company cos companies",
        "ltd": "ltd limited",
        "llc": "llc",
        "lp": "lp",
        "llp": "llp",
        "plc": "plc",
        "gmbh": "gmbh",
        "ag": "ag aktiengesellschaft",
        "sa": "sa",
        "nv": "nv",
        "bv": "bv",
        "na": "na nationalassociation",
        "spa": "spa",
        "srl": "srl",
        "as": "as",
        "asa": "asa",
        "ab": "ab",
        "oy": "oy oyj",
        "kk": "kk",
        "pty": "pty proprietary",
        "pte": "pte",
        "pvt": "pvt private",
        "sarl": "sarl",
        "sas": "sas",
        "kg": "kg",
        "se": "se",
        "ev": "ev",
        "fsb": "fsb",
        "ssb": "ssb",
    }.items()
    for variant in variants.split()
}

# Phrases shortened before words are cut; lower case.
PHRASES = {
    "national association": "na",
    "limited liability company": "llc",
    "limited partnership": "lp",
    "limited liability partnership": "llp",
    "public limited company": "plc",
    "a/s": "as",
    "société anonyme": "sa",
    "naamloze vennootschap": "nv",
    "besloten vennootschap": "bv",
    "federal savings bank": "fsb",
    "et al": "etal",
    "and/or": "andor",
    "at-large": "at large",
    "to present": "present",
    "at least": "atleast",
    "no less than": "atleast",
    "not less than": "atleast",
    "at most": "atmost",
    "no more than": "atmost",
    "not more than": "atmost",
    "less than": "lessthan",
    "more than": "morethan",
    "greater than": "morethan",
    "per annum": "pa",
    "per cent": "%",
    "http://": "",
    "https://": "",
    "www.": "",
    "mailto:": "",
    "vice president": "vp",
    "vice-president": "vp",
    "dated as of": "dated",
    "united states of america": "us",
    "united states": "us",
    "united kingdom": "uk",
    "fiscal year ended": "year ended",
    "fiscal year": "fy",
    "year to date": "ytd",
    "year-to-date": "ytd",
    "first quarter": "q1",
    "second quarter": "q2",
    "third quarter": "q3",
    "fourth quarter": "q4",
    "1st quarter": "q1",
    "2nd quarter": "q2",
    "3rd quarter": "q3",
    "4th quarter": "q4",
    "fiscal quarter ended": "quarter ended",
    "1st half": "h1",
    "2nd half": "h2",
    "first half": "h1",
    "second half": "h2",
}

ANTONYMS = frozenset(
    frozenset(pair.split("/"))
    for pair in """
    increase/decrease increased/decreased increases/decreases increased/reduced increase/reduce
    rise/fall gain/loss profit/loss up/down high/low higher/lower upper/lower maximum/minimum
    max/min male/female men/women man/woman mens/womens boys/girls mother/father his/her he/she
    sr/jr north/south east/west northern/southern eastern/western lender/borrower buyer/seller
    landlord/tenant licensor/licensee employer/employee assignor/assignee assets/liabilities
    asset/liability debit/credit before/after first/last more/less most/least above/below
    gross/net short/long full/part internal/external inbound/outbound import/export front/back
    indoor/outdoor true/false yes/no all/none always/never hired/fired bought/sold buy/sell
    purchase/sale left/right open/closed start/end public/private domestic/foreign
    positive/negative inclusive/exclusive including/excluding include/exclude with/without
    accept/reject accepted/rejected approve/reject approved/rejected present/absent winner/loser
    won/lost win/lose plus/minus old/new early/late fixed/variable simple/complex senior/junior
    primary/secondary may/shall may/must permitted/prohibited mandatory/optional
    undergraduate/graduate inflow/outflow payable/receivable affect/effect adoption/adaption
    accept/except principle/principal large/small strong/weak better/worse best/worst
    lessthan/morethan atleast/atmost martial/marital through/thorough
    interstate/intestate prescribe/proscribe prescribed/proscribed
    faster/slower day/night home/away macro/micro hyper/hypo inter/intra pre/post
    """.split()
)

# What may stand before a colon without being part of the value.
LABELS = frozenset(
    """
    abstract email mail phone tel telephone mobile fax name address date title keywords keyword
    website url linkedin administrative agent lender borrower issuer summary objective note
    """.split()
)
PHONE_LABELS = frozenset("phone tel telephone mobile fax cell".split())

HONORIFICS = frozenset(
    """
    dr prof professor mr mrs ms miss mx sir dame lord lady rev hon herr frau mme mlle sgt lt col
    capt captain maj major cpl cmdr adm admiral sen senator gov governor judge justice rabbi
    """.split()
)
MALE_TITLES = frozenset("mr sir lord herr".split())
FEMALE_TITLES = frozenset("mrs ms miss dame lady frau mme mlle".split())
DEGREES = frozenset(
    """
    phd md mba ma ms msc bs bsc ba jd llm llb esq cfa cpa rn pe dds dphil edd mph frcp facc
    fellow meng pmp facs do dvm mphil
    """.split()
)
GENERATIONS = frozenset("jr sr ii iii iv".split())
PARTICLES = frozenset(
    "van von der den de del della di da dos du la le el al bin ibn ter ten y e".split()
)

# A text with one of these words is no person's name.
NOT_PERSONAL = frozenset(
    """
    bank university institute department technology science laboratory college school class type
    series tranche part level sec group fund phase grade plan volume no editor form north south
    east west new city state county college company holdings industries systems capital
    securities financial partners trust loan loans term notes shares note schedule exhibit
    appendix article vitamin model version hepatitis team club conference journal manager
    director engineer analyst developer scientist officer assistant associate learning data
    software hardware network networks science studies research project product design analysis
    management marketing sales finance language languages programming deep neural general
    international national american insurance airlines services solutions technician specialist
    vp vice president chief ceo cfo cto secretary treasurer chairman partner
    consultant agent court act lead option unit region medical clinical
    """.split()
)
# Words that a venue's full name has and its acronym leaves out.
GENERIC_VENUE = frozenset(
    """
    conference international annual proceedings ieee acm symposium workshop meeting usenix
    european joint advances journal cvf hlt siam
    """.split()
)
# Universities that differ from their namesake with the words the other way round.
FIXED_ORDER = frozenset("washington york miami indiana boston pacific columbia".split())
