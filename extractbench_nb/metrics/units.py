"""Number words, scales, currencies and units of measure, as data."""

from __future__ import annotations

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)  # fmt: skip
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_TENTHS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
SMALL_NUMBERS = {w: i for i, w in enumerate(_ONES.split())} | {
    w: 10 * i for i, w in enumerate(_TENS.split(), 2)
}
ORDINALS = {w: i for i, w in enumerate(_ORDINALS.split())} | {
    w: 10 * i for i, w in enumerate(_TENTHS.split(), 2)
}
WHOLE_TENS = range(20, 100, 10)
WORD_SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9,
               "trillion": 10**12}  # fmt: skip
SCALES = WORD_SCALES | {"millions": 10**6, "billions": 10**9, "thousands": 1_000, "mn": 10**6,
                        "mio": 10**6, "mln": 10**6, "mm": 10**6, "bn": 10**9, "bln": 10**9,
                        "tn": 10**12}  # fmt: skip
MONEY_SCALES = {"k": 1_000, "m": 10**6, "b": 10**9, "t": 10**12}
CURRENCY_SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr", "₩": "krw",
                  "₽": "rub", "₺": "try", "₪": "ils"}  # fmt: skip
CURRENCIES = {
    code: code
    for code in ("usd eur gbp jpy chf cad aud nzd cny hkd sgd sek nok dkk inr krw brl mxn zar "
                 "pln czk huf try rub ils thb").split()
} | {"dollar": "usd", "dollars": "usd", "euro": "eur", "euros": "eur", "yen": "jpy",
     "rmb": "cny", "yuan": "cny", "rupees": "inr", "francs": "chf"}  # fmt: skip
_UNIT_ROWS: tuple[tuple[str, float, str], ...] = (
    ("%", 1, "% percent pct"),
    ("%", 0.01, "bp bps"),
    ("%", 0.1, "‰"),
    ("pctpt", 1, "pctpt"),
    ("m", 1, "m meter meters metre metres mtr mtrs"),
    ("m", 1e3, "km kms kilometer kilometers kilometre kilometres"),
    ("m", 1e-2, "cm centimeter centimeters centimetre centimetres"),
    ("m", 1e-3, "millimeter millimeters millimetre millimetres"),
    ("m", 1e-6, "μm um micrometer micrometers micrometre micrometres"),
    ("m", 1e-9, "nm nanometer nanometers nanometre nanometres"),
    ("m", 1609.344, "mi mile miles"),
    ("m", 0.9144, "yd yds yard yards"),
    ("m", 0.3048, "ft foot feet"),
    ("m", 0.0254, "inch inches"),
    ("kg", 1, "kg kgs kilogram kilograms kilogramme kilogrammes kilo kilos"),
    ("kg", 1e-3, "g gram grams gramme grammes"),
    ("kg", 1e-6, "mg milligram milligrams"),
    ("kg", 1e-9, "μg ug mcg microgram micrograms"),
    ("kg", 1e3, "tonne tonnes"),
    ("kg", 0.45359237, "lb lbs pound pounds"),
    ("kg", 0.028349523125, "oz ounce ounces"),
    ("l", 1, "l liter liters litre litres"),
    ("l", 1e-3, "ml milliliter milliliters millilitre millilitres"),
    ("l", 1e-6, "μl ul microliter microliters microlitre microlitres"),
    ("s", 1, "s sec secs second seconds"),
    ("s", 1e-3, "ms millisecond milliseconds"),
    ("s", 60, "min mins minute minutes"),
    ("s", 3600, "h hr hrs hour hours"),
    ("s", 86400, "day days"),
    ("s", 604800, "wk wks week weeks"),
    ("month", 1, "mo mos month months"),
    ("month", 12, "yr yrs year years"),
    ("byte", 1, "byte bytes"),
    ("byte", 1e3, "kb kilobyte kilobytes"),
    ("byte", 1e6, "mb megabyte megabytes"),
    ("byte", 1e9, "gb gigabyte gigabytes"),
    ("byte", 1e12, "tb terabyte terabytes"),
    ("bit", 1, "bit bits"),
    ("bitps", 1e3, "kbps"),
    ("bitps", 1e6, "mbps"),
    ("bitps", 1e9, "gbps"),
    ("m3", 1, "cbm"),
    ("m2", 1, "sqm"),
    ("m2", 1e6, "sqkm"),
    ("m2", 1e4, "ha hectare hectares"),
    ("m2", 0.09290304, "sqft"),
    ("m2", 4046.8564224, "acre acres"),
    ("hz", 1, "hz hertz"),
    ("hz", 1e6, "mhz megahertz"),
    ("hz", 1e9, "ghz gigahertz"),
    ("w", 1, "w watt watts"),
    ("w", 1e3, "kw kilowatt kilowatts"),
    ("w", 1e6, "mw megawatt megawatts"),
    ("w", 1e9, "gw gigawatt gigawatts"),
    ("pa", 1, "pa pascal pascals"),
    ("pa", 1e3, "kpa"),
    ("pa", 1e6, "mpa"),
    ("v", 1e-3, "mv"),
    ("v", 1e3, "kv"),
    ("mph", 1, "mph"),
    ("mph", 0.621371192237334, "kph kmh"),
    ("°c", 1, "°c"),
    ("°f", 1, "°f"),
    ("ord", 1, "st nd rd th"),
)
# Units whose letters mean something else in another case; in any other case they are read as above.
CASED_UNITS = {
    "mW": ("w", 1e-3), "mHz": ("hz", 1e-3), "mPa": ("pa", 1e-3), "MV": ("v", 1e6),
    "Mg": ("kg", 1e3), "Mm": ("m", 1e6), "Mb": ("bit", 1e6), "Gb": ("bit", 1e9),
    "kBps": ("byteps", 1e3), "MBps": ("byteps", 1e6), "GBps": ("byteps", 1e9),
}  # fmt: skip
UNIT_NAMES = tuple(tuple(names.split()) for base, _, names in _UNIT_ROWS if base != "ord")
UNITS = {name: (base, factor) for base, factor, names in _UNIT_ROWS for name in names.split()}
UNITS |= CASED_UNITS
UNITS |= {code: (code, 1.0) for code in CURRENCIES.values()} | {
    "": ("", 1.0),
    "ord": ("ord", 1.0),
    "mm": ("m", 1e-3),
}
MONEY = frozenset(CURRENCIES.values())
VALUE_WORDS = frozenset((*SMALL_NUMBERS, *ORDINALS, *WORD_SCALES, *CURRENCIES))
