"""Sentence frames with seeded fillers, for what the texts of a dataset do not contain.

Rules are tuned on the first list. The second was written after them and is held out. Fillers are
split too, those with an odd position are held out: the halves share no sentence and no name.
"""

from __future__ import annotations

import string
from random import Random

TUNING_FRAMES = """
A dividend of ${price} per share was declared
Net loss of ${price} per unit for the year
Total floor area {decimal} m², of which {tenth} m² is let
Storage volume of {decimal} m³ at the {city} site
Adjusted EBITDA {tenth}m
Operating margin {tenth}% in {year}
Revenue was ${thousands} and cost of sales ${thousands2}
Headcount rose to {thousands} from {thousands2}
EPS ${price}
Net result (EUR {price})
p < 0.0{digit}
Response time ≥ {tenth} s in {count} runs
The difference was significant (p > 0.0{digit})
Loading of ≤ {tenth} kg per axle
Dose of {tens} mg/kg twice daily
Give {tens} mg once daily for {count} days
Energy use of {decimal} kWh/m² per year
Maximum load {tens} kg/m at {tenth} m
Clearance {tenth} mL/min in adults
Speed limit {tens} km/h on {street}
Rated at {tens} MW with {count} turbines
Output {tens} mW at {tenth} V
Bandwidth of {tens} Mbps per user
Throughput {tens} MB/s measured over {count} hours
Clock rate {tens} MHz
Pressure of {tenth} MPa
{tens} mg of {substance}
{tenth} km of cable and {tens} kg of copper
Weight {decimal} g, length {tens} mm
Cable length {tens} m, cross-section {tenth} mm²
The {ordinal} amendment to the {city} lease
Finished {nth} of {tens} in the {city} open
{nth} floor, {street}
The {ordinal} instalment falls due in {month}
Signed on {slashdate}
Effective {slashdate}, {city}
Due {iso}
Published {longdate}
Delivery by {longdate} in {city}
Lender: {firm}; Borrower: {firm2}
Seller: {person}; Buyer: {person2}
Landlord - {firm}, Tenant - {firm2}
{firm} (assignor), {firm2} (assignee)
{firm} acquired {firm2}
{firm} guarantees the debts of {firm2}
{person} reports to {person2}
{person} sued {person2}
The borrower may prepay the loan without penalty
The tenant shall not sublet the premises
The notes are secured by the assets of {firm}
The plan is approved by the board of {firm}
All directors attended the meeting
Some lenders agreed to the waiver
Every holder may convert the notes
At least {count} members must be present
No more than {tens} units may be issued
At most {count} claims may be filed
Order {code}, lot {code2}
Serial number {code}
Patent {code} of {year}
Part {code2} fits model {code}
{street} {tens}
{street} {tens}a
{street} {tens}b, {city}
Office at {street} {tens}, {city}
Python 3.1{digit}
Release {version} of the driver
Firmware v{version}
Requires OpenSSL {version} or later
Total price €{price}
Paid £{thousands} to {firm}
USD {thousands} in cash
A fee of EUR {price} applies
Capital of CHF {thousands}
Unemployment fell by {tenth}%
Rates rose {tenth} percentage points
Coupon of {tenth} % p.a.
A spread of {tens} basis points
Ages {tens}-{nineties}
Pages {hundreds}–{hundreds2}
Between {tens} and {nineties} employees
Temperature range {tens} to {nineties} °C
HER2+ tumours
HER2- tumours
ER+ and PR- disease
Rh+ donors
Blood culture positive
Antibody test negative
{initial}. {surname}
{initial}. {initial2}. {surname} and {initial2}. {surname2}
{surname}, {initial}.
{initial}. {surname} and {initial2}. {surname2}
{person} Jr.
{person} Sr., {city}
{person} III
{person} II, {firm}
{firm}
{firm} and {firm2}
{firm}, {city}
Agreement between {firm} and {firm2}
The committee reviewed the annual budget and approved the plan for the {city} office
Members elected {person} as chair and adjourned until the next meeting in {city}
Beam 3' - 0" long
Ceiling height {digit}' {digit2}"
Pipe {digit}" wide
Panel {digit}' x {digit2}'
Angle of {tens}°
Tilt {tens}° north
Stored at {tens} °C
Heated to {tens}°C for {count} h
Departure {clock}
Meeting at {clock} in {city}
Doors open at {ampm}
Call at {ampm} with {person}
Count of 10^{digit} cells
Concentration 10⁻{sup} M
About {digit} × 10{sup} particles
Value {tenth}e-{digit}
Tolerance {tens} ± {digit} mm
Mean {decimal} ± {tenth}
Margin of ± {tenth}%
Ratio {digit}/{digit2}
A share of {digit}/9 of the profit
Two thirds of the votes
Increased sales in {city}
Gross revenue of {firm}
A short position in {substance}
Net import of {substance}
Paid by {firm}
Assigned to {person}
Letter from {person}
Shares transferred by {firm2}
Founded in {year} in {city}
{city}, {year}
Plants in {city}, {city2} and {city3}
{city}, {city2}, {city3}
Languages: {language}, {language2}
{language} and {language2}
{person}
{person} and {person2}
Dr. {person}
Prof. {person}, {city}
Chair: {person}
{email}
Contact {email}
https://{domain}/{word}/{hundreds}
{umlaut} & {umlaut2}
{umlaut}straße {tens}
{umlaut}, {umlaut2} und Partner
Herr {umlaut}
Café {umlaut}, {city}
{accent} and {accent2}
{accent}, {city}
{accent} {surname}
Chief Executive Officer of {firm}
Vice President, {firm}
{hundreds} {word} Street, {city}
{hundreds} {word} Avenue
{tens} {word} Road, Suite {hundreds}
{tens} {word} Boulevard, {city}
Colour of the {substance} label
The organisation of labour in {city}
Centre for {substance} research
A programme to analyse behaviour
State-of-the-art {substance} filter
A well-known long-term supplier of {substance}
Non-recurring follow-up costs of {firm}
{count} years and {tens} days
A term of {count} months
{tens} hours of work
Rent for {count} weeks
${tenth} million
Loans of ${digit} billion to {firm}
€{tenth} million grant
Costs of £{digit} million in {year}
Efficient workflow for the affluent office
First filing of the final official offer
The "{word}" mark
Named '{word}' in {year}
The {city} office - closed in {year}
{firm} — {city}
Office in {city}, CA
Born in {city}, NY
Based in {city}, TX, since {year}
Registered in Delaware
Depot in {city}, Ohio
Meeting at {clock} EST
Call at {clock} PST
Flow {tens} µL/h
Thickness {tens} µm
{decimal} mg of {substance} from {city}
A sample of {decimal} mg {substance}
Rated at {decimal} MW in {city}
Peak of {decimal} MW at {firm}
Bandwidth of {decimal} Mbps in {city}
Link of {decimal} Mbps to {city}
Disk rate {hundreds} MB/s in test {digit}
Transfer at {hundreds} MB/s with {firm}
Signal of {decimal} mV over {tens} s
Field of {decimal} MV at {city}
Archive of {hundreds} GB held by {firm}
Backup of {hundreds} GB made in {year}
All directors of {firm} attended
All plants of {firm} are insured
Some lenders of {firm} agreed
Some offices in {city} closed in {year}
Every holder of {firm} notes may convert
Every site in {city} was visited
Each member of {firm} voted
Many users in {city} replied in {year}
Both parties met in {city}
Several claims against {firm} were filed
HER2+ tumours, {city} cohort of {year}
HER2- tumours, {city} cohort of {year}
ER+ disease, patient {hundreds}
PR- disease, patient {hundreds}
Test of {person} positive
Test for {substance} negative in {city}
Beam {digit}' - {digit2}" at {city}
Post {tens}' - {digit}" at {city}
Pipe {digit}" of {substance}
Wall {tens}' of {substance}
Give {tens} mg twice daily to patient {hundreds}
Dose of {decimal} mL once daily, {city} trial
A fee of {digit}/{digit2} of the rent in {city}
Holds {digit}/{tens} of {firm}
One half of {firm}
One third of {firm}
Python 3.{digit} on {city} hosts
Python 3.{tens} for {firm}
Release {version} for {city}
Driver v{version} by {firm}
Colour of the {substance} from {city}
Behaviour of {substance} in {city}
The organisation of {firm}
The labour market of {city}
Centre of {city}
The programme of {firm}
The {ordinal} office of {firm}
The {ordinal} plant in {city}
Reading 10^{digit} at {city} in {year}
Level 10⁻{sup} at site {hundreds}
Row 1 {tens}, row 2 {nineties}
Lots {digit} {tens} and {digit2} {nineties}
Offset UTC+{digit} in {city}
Clock at GMT+0{digit}:30, {city}
Margin SOFR+{tenth}% for {firm}
EURIBOR+{tens} for {firm}
Settles T+{digit} at {city}
HBsAg (+), patient {hundreds}
Anti-HCV (-), patient {hundreds}
Result: +
CD4+CD8- cells of donor {hundreds}
Rule x ≠ {digit}
↑ LDL in patient {hundreds}
Flow {city} → {city2}
☑ approved by {person}
☐ {city} ☒ {city2}
Rated ★★★☆☆ in {city}
Variant c.{hundreds}A>T
Level <LOQ at {city}
Assay of {tens} nM {substance}
Buffer {tens} mM, batch {digit}
Conductance {tens} mS
Pulse of {digit} mJ
Discharge of {digit} MA
Sequence of {hundreds} kb
{surname} v. {surname2}
{surname} vs. {surname2} ({year})
{city} - {city2}
{city}-{city2} line
Rate of EUR/USD in {year}
ZIP 0{hundreds}{digit}
{city} 0{hundreds}{digit}
Badge A-00{digit}
https://{domain}/{word}-{hundreds}/{digit}
{domain}
We don't ship to {city}
Tenants can't leave {city}
""".strip().splitlines()

HELD_OUT_FRAMES = """
The board proposes ${price} per share for {year}
Earnings came to £{price} per unit at {firm}
A plot of {decimal} m² beside {street}
The tank holds {decimal} m³ of water
Operating profit {tenth}m, {firm}
Mean salinity {decimal} in {city} harbour
Sales of €{thousands} against €{thousands2} before
{thousands} visitors came to {city} in {year}
{firm} shipped {thousands} tonnes
Change in cash ${price}
Loss before tax ({price})
Return on equity {decimal}% at {firm}
Effect was null (p > 0.{tens})
Reject if p < 0.0{digit}, site {hundreds}
Sieve residue ≤ {decimal} g
Torque ≥ {decimal} N at {city}
Infusion at {tens} mg/h in {city}
Infuse {tens} mL/h for {count} hours
Consumption of {decimal} kWh/day at {firm}
Yield of {tens} kg/ha near {city}
Rent of €{price} per user of {firm}
A turbine of {decimal} MW near {city}
Laser of {decimal} mW for {firm}
Line rate of {tens} Mbps at {firm}
Copy speed {hundreds} MB/s on disk {digit}
Radio at {decimal} MHz from {city}
Test pressure {decimal} MPa in year {year}
Supply {decimal} mV to sensor {hundreds}
A crate of {decimal} kg from {city}
Route of {decimal} km to {city}
Bolt of {tens} mm for {firm}
Store of {hundreds} GB in {city}
Bought {tens} acres near {city}
Won the {ordinal} prize in {city}
The {nth} congress met in {city}
{person} came {nth} in {year}
Lease from {slashdate} on
Invoice of {slashdate}, {firm}
Filed {iso} by {firm}
Inspected {longdate} by {person}
On {longdate} {firm} moved to {city}
Issuer: {firm}; Trustee: {firm2}
Author: {person}; Editor: {person2}
Owner - {person}, Tenant - {firm}
{person} (plaintiff), {person2} (defendant)
{firm} acquired {firm2} in {year}
{person} sued {firm}
{firm2} guarantees the debts of {firm}
{person2} reports to {person}
The agent may resign at any time, {firm}
{firm} shall not assign this lease
The claim is unsecured against {firm}
{person} was not present in {city}
{city} has never been flooded
Each vendor of {firm} signed
All roads near {city} are open
Some staff of {firm} left in {year}
Few shops in {city} closed
At least {tens} votes for {person}
At most {tens} seats in {city}
More than {tens} boats left {city}
Invoice {code} for {firm}
Device {code2}, site {hundreds}
Chassis {code} sold in {city}
{person}, {street} {tens}
Depot, {street} {tens}
{street} {tens}a, {city}
Python 3.{tens} in {city}
Python 3.{digit} for {firm}
Kernel {version} by {firm}
Build v{version} from {city}
Fare of €{price} to {city}
Grant of £{thousands} for {city}
Budget USD {thousands} for {firm}
Price EUR {price} in {city}
Toll CHF {thousands}, {city}
Turnout {decimal}% in {city}
Tax up {tenth} percentage points in {year}
Discount of {tenth} % from {firm}
Spread {tens} basis points, {firm}
Rooms {tens}-{nineties} of {firm}
See pages {hundreds}–{hundreds2} in {word}
Between {tens} and {nineties} ships at {city}
HER2+ case {hundreds} in {city}
ER- case {hundreds} in {city}
Rh+ blood sent to {city}
Swab of {person2} negative
Culture from {city} positive
Give {tens} mg of {substance} twice daily
Syrup {decimal} mL once daily, ward {hundreds}
By {initial}. {surname} in {year}
{initial}. {initial2}. {surname}, {city}
{surname}, {initial}. ({year})
{initial}. {surname2} and {initial2}. {surname}
{person} Jr. of {city}
{person2} Sr., {firm}
{person} III, {city}
Judge {person} II
{firm2}, {city}
Loan by {firm} for {city}
The harbour master closed the eastern gate after heavy rain and told {firm} in {city}
Nurses checked the patients every hour and wrote short notes for {person} in {city}
Door {digit}' - {digit2}" for {firm}
Beam of {tens}' at {city}
Screen {tens}" by {firm}
Slope of {tens}° near {city}
Turn {tens}° to face {city}
Kept at {decimal} °C in {city}
Train at {clock} from {city}
Closes {clock}, {firm}
Lecture at {ampm} in {city}
Launch {clock} EST from {city}
Webinar {clock} PST by {firm}
Dilution 10^{digit} for {firm}
Flux 10⁻{sup} at {city}
Charge {decimal}e-{digit} for run {hundreds}
Diameter {decimal} ± {tenth} at {city}
Holds {digit}/{digit2} of the {city} estate
A share of {digit}/{tens} in {firm}
One third of {city}
Gross income of {firm2} in {year}
Net worth of {person}
A long position at {firm}
Higher duty on {substance}
The maximum for {substance} in {city}
Sold by {firm} in {year}
Moved to {city} in {year}
Note from {person2}
Based in {city}, CA
Lives in {city}, OH
Offices in {city}, NY and {city2}
Registered in Texas, {firm}
{city2}, {city3}, {city}
{city} and {city2}
{language}, {language2}
{person2}
{initial}. {surname2}
Dr. {person2}
Prof. {person2}
Write to {email}
See https://{domain}/{word}/{tens}
{umlaut} & {umlaut2} GmbH
Frau {umlaut}, {city}
{umlaut2}straße {tens}, {city}
Villa {accent} in {city}
{accent} {surname2}, {city}
{tens} {word} Street, {city2}
{hundreds} {word} Road
{tens} {word} Avenue, Suite {hundreds}
Colour chart by {firm}
Behaviour of crowds in {city}
A programme for {person}
Centre for trade, {city}
State-of-the-art loom by {firm}
Short-term lease of {firm}
{count} months in {city}
Lasts {tens} hours at {city}
Leave of {count} weeks for {person}
${tenth} million for {city}
£{digit} million from {firm}
€{tenth} billion owed by {firm}
Official staff offices in {city}
A "{word}" ticket to {city}
{word}'s first shop in {city}
{firm} – {city2}
Gauge of {tens} µm by {firm}
Drops of {tens} µL in {city}
Lot {digit} {tens} for {person}
The {ordinal} clause
Office hours in UTC+{digit}, {firm}
Departs GMT+0{digit}:00 from {city}
Priced at SONIA+{tenth}%, {city}
Coupon of LIBOR+{tens} for {firm}
Paid on day+{digit} by {firm}
Rubella IgG (+) for {person}
Toxin B (-) in sample {hundreds}
Growth in {city}: +
CD3+CD19- fraction of {tens}
Condition n ≠ {digit} at {city}
↑ potassium on ward {hundreds}
↓ platelets in {person}
Transfer {firm} → {firm2}
☑ insured by {firm}
☐ {language} ☒ {language2}
Hotel ★★☆☆☆, {city}
Mutation c.{hundreds}G>C in {person}
Lead >LOD near {city}
Ligand at {tens} nM for {firm}
Saline of {tens} mM in {city}
Membrane of {tens} mS at {city}
Laser shot of {digit} mJ, {firm}
Arc of {digit} MA in {city}
Insert of {tens} kb from {firm}
{surname2} v. {surname}, {year}
{surname} vs. {surname2}
{city2} - {city}
Ferry {city}-{city3}
Hedge of GBP/USD by {firm}
Post code 0{hundreds}{digit}, {city}
Account 00{hundreds} of {person}
Tag B-0{digit} on crate {hundreds}
Form at https://{domain}/{word}-{tens}/{hundreds}
Mail {email} for prices
Visit {domain} for {word}
{firm} doesn't deliver to {city}
Guests can't park near {city}
""".strip().splitlines()

FRAMES = (TUNING_FRAMES, HELD_OUT_FRAMES)

_NAMES = """
Clara Martin Elena Joseph Ruth Walter Irene Gordon Paula Dennis Nadia Oscar Judith Victor Helen
Norman Alice Leonard Sylvia Arthur
""".split()
_SURNAMES = """
Hopkins Garland Whitfield Marsh Preston Talbot Winslow Carver Delgado Foster Granger Holloway
Kessler Lambert Mercer Osborne Quigley Rowland Sterling Thackeray
""".split()
_CITIES = """
Dover Ashford Lincoln Camden Bristol Norwich Salem Trenton Oxford Windsor Dalton Fairview Harlow
Kendal Milton Preston Ripon Selby Tamworth Wells
""".split()
_FIRMS = """
Northgate Brightwater Ironbridge Larkspur Redstone Silverlake Oakhurst Pinecrest Stonefield
Summit Harborview Westbrook Eastmoor Granite Meridian Cobalt Juniper Falcon Orchard Beacon
""".split()
_TRADES = "Capital Foods Logistics Energy Textiles Mining Software Bank".split()
_FORMS = ("Inc.", "LLC", "Ltd.", "GmbH", "AG", "PLC", "Corp.", "L.P.", "S.A.", "B.V.")
_SUBSTANCES = """
copper barley timber cement cotton nickel paper rubber zinc wheat glass resin sugar silicon wool
cobalt
""".split()
_WORDS = "maple harbor willow summit orchard garden chapel meadow valley forest".split()
_LANGUAGES = "French Spanish Danish Polish Korean Arabic Turkish Czech Hindi Greek".split()
_STREETS = """
Station Street|Mill Lane|Park Road|Church Street|Queen Avenue|King Street|Garden Lane|High Road
""".strip().split("|")  # fmt: skip
_UMLAUTS = """
Müller Söhne Schröder Jäger Köhler Böttcher Krämer Schäfer Günther Lübke Grünwald Dörfler
""".split()
_ACCENTS = "José René Zoë Hélène François André Núñez Peña Fermín Anaïs Noémie Tomás".split()
_ORDINALS = "second third fourth fifth sixth seventh eighth ninth tenth".split()
_MONTHS = """
January February March April May June July August September October November December
""".split()
_SUPERSCRIPTS = "³⁴⁵⁶⁷⁸⁹"


def fill(frame: str, rng: Random, half: int) -> str:
    """Fill the fields of a frame with the names of one half and with random numbers."""
    fields = {name for _, name, _, _ in string.Formatter().parse(frame) if name}
    values = _names(rng, half) | _numbers(rng) | _dates(rng) | _codes(rng)
    return frame.format(**{name: values[name] for name in fields})


def frame_texts(half: int, seed: int, count: int) -> list[str]:
    """Fill each frame of one half up to `count` times; 0 for tuning, 1 held out."""
    rng = Random(f"{seed} {half}")
    return sorted({fill(frame, rng, half) for frame in FRAMES[half] for _ in range(count)})


def _names(rng: Random, half: int) -> dict[str, str]:
    def pick(words: list[str] | tuple[str, ...], count: int = 1) -> list[str]:
        return rng.sample(words[half::2], count)

    first, first2 = pick(_NAMES, 2)
    last, last2 = pick(_SURNAMES, 2)
    firm, firm2 = pick(_FIRMS, 2)
    city, city2, city3 = pick(_CITIES, 3)
    umlaut, umlaut2 = pick(_UMLAUTS, 2)
    accent, accent2 = pick(_ACCENTS, 2)
    language, language2 = pick(_LANGUAGES, 2)
    form, form2 = rng.sample(_FORMS, 2)
    trade, trade2 = rng.choice(_TRADES), rng.choice(_TRADES)
    word = pick(_WORDS)[0]
    initial, initial2 = rng.sample("BCDEFGHKLMNPRSTW", 2)
    return {
        "person": f"{first} {last}", "person2": f"{first2} {last2}", "surname": last,
        "surname2": last2, "initial": initial, "initial2": initial2,
        "firm": f"{firm} {trade} {form}", "firm2": f"{firm2} {trade2} {form2}",
        "city": city, "city2": city2, "city3": city3, "umlaut": umlaut, "umlaut2": umlaut2,
        "accent": accent, "accent2": accent2, "language": language, "language2": language2,
        "substance": pick(_SUBSTANCES)[0], "word": word.title(), "street": pick(_STREETS)[0],
        "email": f"{first.lower()}.{last.lower()}@{word}.org", "domain": f"{word}.org",
    }  # fmt: skip


def _numbers(rng: Random) -> dict[str, str]:
    digit, digit2 = rng.sample(range(2, 10), 2)
    start = rng.randint(110, 900)
    return {
        "price": f"{rng.randint(1, 99)}.{rng.randint(11, 99)}",
        "decimal": f"{rng.randint(11, 99)}.{rng.randint(1, 9)}",
        "tenth": f"{rng.randint(1, 19)}.{rng.randint(1, 9)}",
        "thousands": f"{rng.randint(2, 99)},{rng.randint(101, 999)}",
        "thousands2": f"{rng.randint(2, 99)},{rng.randint(101, 999)}",
        "digit": str(digit), "digit2": str(digit2), "count": str(rng.randint(2, 9)),
        "tens": str(rng.randint(12, 49)), "nineties": str(rng.randint(61, 99)),
        "hundreds": str(start), "hundreds2": str(start + rng.randint(5, 60)),
        "ordinal": rng.choice(_ORDINALS),
        "nth": rng.choice("2nd 3rd 4th 5th 6th 7th 8th 9th 11th 12th 21st 22nd 23rd".split()),
        "sup": rng.choice(_SUPERSCRIPTS),
    }  # fmt: skip


def _dates(rng: Random) -> dict[str, str]:
    year, month, day = rng.randint(1990, 2024), rng.randint(1, 12), rng.randint(1, 28)
    low, high = sorted(rng.sample(range(1, 13), 2))
    hour, minute = rng.randint(13, 23), rng.randint(10, 59)
    return {
        "year": str(year), "month": _MONTHS[month - 1],
        "slashdate": f"{low:02d}/{high:02d}/{year}", "iso": f"{year}-{month:02d}-{day:02d}",
        "longdate": f"{_MONTHS[month - 1]} {day}, {year}", "clock": f"{hour}:{minute}",
        "ampm": f"{hour - 12}:{minute} PM",
    }  # fmt: skip


def _codes(rng: Random) -> dict[str, str]:
    def letters(count: int) -> str:
        return "".join(rng.choice("BCDFGHKMPRTVWX") for _ in range(count))

    return {
        "code": f"{letters(2)}-{rng.randint(1000, 9999)}{letters(1)}",
        "code2": f"{letters(1)}{rng.randint(100, 999)}{letters(2)}",
        "version": f"{rng.randint(1, 9)}.{rng.randint(0, 19)}.{rng.randint(1, 19)}",
    }
