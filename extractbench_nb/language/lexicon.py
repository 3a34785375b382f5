"""The vocabulary of the offline judge: data only."""

from __future__ import annotations

from extractbench_nb.language.quantities import UNIT_NAMES

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
DIRECTIONAL = frozenset(
    """
    to from into by over than versus against minus per lessthan morethan
    respectively
    then before after followed step stage phase
    """.split()
)
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
    sku part item model code id serial batch lot
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
        "versus": "vs",
        "alpha": "\u03b1",
        "beta": "\u03b2",
        "gamma": "\u03b3",
        "delta": "\u03b4",
        "epsilon": "\u03b5",
        "kappa": "\u03ba",
        "lambda": "\u03bb",
        "sigma": "\u03c3",
        "omega": "\u03c9",
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
    "v": ("versus",),
    "mon": ("monday",),
    "tue": ("tuesday",),
    "tues": ("tuesday",),
    "wed": ("wednesday",),
    "thu": ("thursday",),
    "thurs": ("thursday",),
    "fri": ("friday",),
    "sat": ("saturday",),
    "sun": ("sunday",),
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
    "n/a": "notapplicable",
    "not applicable": "notapplicable",
    "w/o": "without",
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


# Two texts mean the same if both stand in one row. Keys of rows marked as places matter elsewhere.
PLACES = (
    "al|alabama",
    "ak|alaska",
    "az|arizona|ariz",
    "ar|arkansas|ark",
    "ca|california|calif",
    "co|colorado|colo",
    "ct|connecticut|conn",
    "de|delaware|del",
    "fl|florida|fla",
    "ga|georgia",
    "hi|hawaii",
    "id|idaho",
    "il|illinois|ill",
    "in|indiana|ind",
    "ia|iowa",
    "ks|kansas",
    "ky|kentucky",
    "la|louisiana",
    "me|maine",
    "md|maryland",
    "ma|massachusetts|mass",
    "mi|michigan|mich",
    "mn|minnesota|minn",
    "ms|mississippi|miss",
    "mo|missouri",
    "mt|montana",
    "ne|nebraska|neb",
    "nv|nevada|nev",
    "nh|new hampshire",
    "nj|new jersey",
    "nm|new mexico",
    "ny|new york",
    "nc|north carolina",
    "nd|north dakota",
    "oh|ohio",
    "ok|oklahoma|okla",
    "or|oregon|ore",
    "pa|pennsylvania|penn|penna",
    "ri|rhode island",
    "sc|south carolina",
    "sd|south dakota",
    "tn|tennessee|tenn",
    "tx|texas|tex",
    "ut|utah",
    "vt|vermont",
    "va|virginia",
    "wa|washington|wash",
    "wv|west virginia",
    "wi|wisconsin|wis",
    "wy|wyoming|wyo",
    "dc|district of columbia",
    "on|ontario|ont",
    "qc|quebec",
    "bc|british columbia",
    "ab|alberta",
    "nsw|new south wales",
    "vic|victoria",
    "qld|queensland",
    "nyc|new york city",
    "la|los angeles",
    "sf|san francisco",
    "us|usa|united states|united states of america",
    "uk|united kingdom|great britain|gbr|gb|united kingdom of great britain and northern ireland",
    "england|eng",
    "scotland|sco",
    "ireland|irl|republic of ireland|ie",
    "wales|wal",
    "germany|ger|deu|de|deutschland|federal republic of germany",
    "france|fra|fr|french republic",
    "spain|esp|es|espana|kingdom of spain",
    "italy|ita|it|italia",
    "portugal|por|prt|pt",
    "netherlands|ned|nld|nl|holland|kingdom of the netherlands",
    "belgium|bel|be",
    "switzerland|sui|che|ch|swiss confederation",
    "austria|aut|at",
    "sweden|swe|se",
    "norway|nor|no",
    "denmark|den|dnk|dk",
    "finland|fin|fi",
    "iceland|isl|is",
    "poland|pol|pl",
    "czechia|czech republic|cze|cz",
    "slovakia|svk|sk|slovak republic",
    "slovenia|slo|svn|si",
    "hungary|hun|hu",
    "romania|rou|rom|ro",
    "bulgaria|bul|bgr|bg",
    "greece|gre|grc|gr|hellas",
    "turkey|tur|tr|turkiye",
    "croatia|cro|hrv|hr",
    "serbia|srb|rs",
    "ukraine|ukr|ua",
    "russia|rus|ru|russian federation",
    "estonia|est|ee",
    "latvia|lat|lva|lv",
    "lithuania|ltu|lt",
    "japan|jpn|jp|nippon",
    "china|chn|cn|people's republic of china|prc",
    "south korea|kor|kr|republic of korea|korea",
    "taiwan|republic of china|tpe|twn|tw|chinese taipei",
    "north korea|prk|democratic people's republic of korea",
    "hong kong|hkg|hk|hong kong sar",
    "singapore|sgp|sin|sg",
    "india|ind|republic of india",
    "pakistan|pak|pk",
    "thailand|tha|th",
    "vietnam|vnm|vie|vn|viet nam",
    "indonesia|ina|idn",
    "malaysia|mas|mys|my",
    "philippines|phi|phl|ph",
    "australia|aus|au|commonwealth of australia",
    "new zealand|nzl|nz|aotearoa",
    "south africa|rsa|zaf|za",
    "egypt|egy|eg",
    "nigeria|ngr|nga|ng",
    "kenya|ken|ke",
    "morocco|mar|ma",
    "israel|isr|il",
    "saudi arabia|ksa|sau|sa",
    "united arab emirates|uae|are|ae",
    "iran|iri|irn|islamic republic of iran",
    "iraq|irq|iq",
    "brazil|bra|br|brasil",
    "argentina|arg|ar",
    "mexico|mex|mx",
    "chile|chi|chl|cl",
    "colombia|col|republic of colombia",
    "peru|per|pe",
    "venezuela|ven|ve",
    "canada|can|ca",
    "cuba|cub|cu",
    "ivory coast|cote d'ivoire|civ",
    "uruguay|uru|ury|uy",
    "ecuador|ecu|ec",
    "european union|eu",
    "massachusetts|commonwealth of massachusetts",
    "pennsylvania|commonwealth of pennsylvania",
    "virginia|commonwealth of virginia",
    "kentucky|commonwealth of kentucky",
)
TERMS = (
    "mba|master of business administration|masters of business administration",
    "phd|doctor of philosophy|doctorate of philosophy",
    "md|doctor of medicine|medical doctor",
    "jd|juris doctor|doctor of law",
    "bs|bsc|bachelor of science|bachelors of science",
    "ba|bachelor of arts|bachelors of arts|ab",
    "ms|msc|master of science|masters of science",
    "ma|master of arts|masters of arts",
    "meng|master of engineering",
    "beng|bachelor of engineering",
    "btech|bachelor of technology",
    "mtech|master of technology",
    "mph|master of public health",
    "llb|bachelor of laws",
    "llm|master of laws",
    "mfa|master of fine arts",
    "bfa|bachelor of fine arts",
    "bba|bachelor of business administration",
    "edd|doctor of education",
    "ceo|chief executive officer",
    "cfo|chief financial officer",
    "coo|chief operating officer",
    "cto|chief technology officer|chief technical officer",
    "cio|chief information officer",
    "cmo|chief marketing officer",
    "svp|senior vice president|sr vp",
    "hr|human resources",
    "evp|executive vice president",
    "avp|assistant vice president",
    "qa|quality assurance",
    "pm|project manager",
    "pm|product manager",
    "ta|teaching assistant",
    "ra|research assistant",
    "rd|research and development",
    "it|information technology",
    "ux|user experience",
    "neurips|nips|neural information processing systems",
    "neurips|nips|advances in neural information processing systems",
    "neurips|nips|conference on neural information processing systems",
    "neural information processing systems|advances in neural information processing systems",
    "icml|international conference on machine learning",
    "iclr|international conference on learning representations",
    "cvpr|computer vision and pattern recognition",
    "eccv|european conference on computer vision",
    "iccv|international conference on computer vision",
    "aaai|aaai conference on artificial intelligence",
    "acl|association for computational linguistics",
    "naacl|north american chapter of the association for computational linguistics",
    "emnlp|empirical methods in natural language processing",
    "kdd|knowledge discovery and data mining|sigkdd",
    "pnas|proceedings of the national academy of sciences",
    "jmlr|journal of machine learning research",
    "tpami|transactions on pattern analysis and machine intelligence|pami",
    "corr|arxiv|computing research repository|arxiv preprint",
    "usd|us dollars|u.s. dollar|united states dollars|dollars",
    "eur|euro|euros",
    "gbp|pounds sterling|british pounds",
    "jpy|yen|japanese yen",
    "chf|swiss francs|swiss franc",
    "cad|canadian dollars|canadian dollar",
    "cny|rmb|renminbi|chinese yuan",
    "libor|london interbank offered rate",
    "sofr|secured overnight financing rate",
    "na|n/a|not applicable",
    "yoy|year over year|year on year",
    "ytd|year to date",
    "vs|versus",
    "etal|and others",
    "pa|per year|annually|yearly",
    "phone|telephone|tel",
    "un|united nations",
    "q&a|questions and answers",
    "pr|public relations",
    "ex|exhibit",
    "art|article",
    "sec|securities and exchange commission",
    "free|freestyle",
    "fly|butterfly",
    "back|backstroke",
    "breast|breaststroke",
    "im|individual medley|medley",
    "dns|did not start",
    "dnf|did not finish",
    "dsq|disqualified|dq",
    "m|male|men",
    "f|female|women",
    "m|married",
    "y|yes|true",
    "n|no|false",
    "approx|approximately|about|circa|ca",
    "ms|microsoft",
    "emea|europe middle east and africa",
    "apac|asia pacific",
    "eps|earnings per share",
    "gaap|generally accepted accounting principles",
    "i|#1",
    "ii|#2",
    "iii|#3",
    "iv|#4",
    "v|#5",
    "vi|#6",
    "vii|#7",
    "viii|#8",
    "ix|#9",
    "x|#10",
    "x|times",
    "plus|+",
    "etc|et cetera",
    "qd|once daily|once a day",
    "bid|twice daily|twice a day",
    "tid|three times daily|three times a day",
    "qid|four times daily|four times a day",
    "bachelor|bachelors|bachelor's degree",
    "master|masters|master's degree",
    "hs|high school",
    "postdoc|postdoctoral researcher|postdoctoral fellow|postdoctoral research fellow",
    "postdoc|postdoctoral scholar|postdoctoral associate|postdoctoral research associate",
    "phd student|doctoral student|phd candidate|doctoral candidate",
    "assoc prof|associate professor",
    "asst prof|assistant professor",
    *("|".join(names) for names in UNIT_NAMES),
    "mm|millimeter|millimeters|millimetre|millimetres",
)
CITIES = (
    "munich|munchen|muenchen",
    "cologne|koln|koeln",
    "nuremberg|nurnberg|nuernberg",
    "hanover|hannover",
    "vienna|wien",
    "geneva|geneve|genf",
    "zurich|zuerich",
    "basel|basle",
    "lucerne|luzern",
    "brussels|bruxelles|brussel",
    "antwerp|antwerpen|anvers",
    "ghent|gent|gand",
    "the hague|den haag|'s-gravenhage",
    "copenhagen|kobenhavn",
    "gothenburg|goteborg",
    "rome|roma",
    "milan|milano",
    "turin|torino",
    "florence|firenze",
    "venice|venezia",
    "naples|napoli",
    "genoa|genova",
    "lisbon|lisboa",
    "seville|sevilla",
    "prague|praha",
    "warsaw|warszawa",
    "cracow|krakow",
    "moscow|moskva",
    "bucharest|bucuresti",
    "belgrade|beograd",
    "athens|athina",
    "kyiv|kiev",
    "beijing|peking",
    "guangzhou|canton",
    "mumbai|bombay",
    "kolkata|calcutta",
    "chennai|madras",
    "bengaluru|bangalore",
    "ho chi minh city|saigon",
    "mexico city|ciudad de mexico|mexico df",
    "nyc|new york city|new york ny",
)
UNIVERSITIES = (
    *(
        f"{name}|{name} university|university of {name}"
        for name in "stanford harvard yale princeton cornell duke oxford cambridge".split()
    ),
    *(
        f"{name}|{name} university"
        for name in (
            "brown",
            "dartmouth college",
            "vanderbilt",
            "emory",
            "tulane",
            "georgetown",
            "purdue",
            "clemson",
            "auburn",
            "syracuse",
            "rutgers",
            "tufts",
            "brandeis",
            "howard",
            "drexel",
            "villanova",
            "baylor",
            "fordham",
            "marquette",
            "notre dame",
            "carnegie mellon",
            "johns hopkins",
            "case western reserve",
            "mcgill",
            "tsinghua",
            "peking",
            "fudan",
            "waseda",
            "keio",
            "leiden",
            "utrecht",
            "aalto",
            "uppsala",
            "lund",
            "monash",
            "ohio state",
            "michigan state",
            "florida state",
            "arizona state",
            "iowa state",
            "kansas state",
            "oregon state",
            "colorado state",
            "san jose state",
            "san diego state",
            "oklahoma state",
            "louisiana state",
            "penn state",
            "texas a&m",
        )
    ),
    "penn state|pennsylvania state university",
    "penn|upenn|university of pennsylvania",
    "berkeley|uc berkeley|university of california berkeley",
    "ucla|uc los angeles|university of california los angeles",
    "ucsd|uc san diego|university of california san diego",
    "ucsb|uc santa barbara|university of california santa barbara",
    "ucsf|uc san francisco|university of california san francisco",
    "uci|uc irvine|university of california irvine",
    "ucd|uc davis|university of california davis",
    "uiuc|university of illinois urbana champaign|university of illinois at urbana-champaign",
    "umich|university of michigan",
    "uw|university of washington",
    "uw|university of wisconsin|university of wisconsin madison",
    "unc|university of north carolina|university of north carolina chapel hill",
    "uva|university of virginia",
    "usc|university of southern california",
    "ut austin|university of texas austin",
    "caltech|cal tech|california institute of technology",
    "georgia tech|gatech|georgia institute of technology",
    "virginia tech|virginia polytechnic institute and state university",
    "lse|london school of economics|london school of economics and political science",
    "imperial|imperial college|imperial college london",
    "ucl|university college london",
    "kcl|king's college london",
    "nus|national university of singapore",
    "ntu|nanyang technological university",
    "ntu|national taiwan university",
    "hkust|hong kong university of science and technology",
    "kaist|korea advanced institute of science and technology",
    "eth|eth zurich|swiss federal institute of technology zurich",
    "epfl|ecole polytechnique federale de lausanne",
    "tum|technical university of munich|technische universitat munchen",
    "rwth|rwth aachen|rwth aachen university",
    "ubc|university of british columbia",
)
PLACE_CODES = frozenset(
    name.upper() for row in PLACES for name in row.split("|") if len(name) in (2, 3)
)
