"""The linear regressions of NIST's Statistical Reference Datasets (https://www.itl.nist.gov/div898/strd, public domain): writes nist.json.

Everything is exact rational arithmetic: once from the decimals that NIST prints, which gives the certified values (compared here with the
published ones), and once from the doubles that a program is given, powers rounded to double, which is as far as any program can come.
"""

import json
from fractions import Fraction as F
from pathlib import Path

# The response, then the predictors; a row ends with a semicolon.
DATA = {
    "norris": """
        0.1 0.2; 338.8 337.4; 118.1 118.2; 888 884.6; 9.2 10.1; 228.1 226.5; 668.5 666.3; 998.5 996.3; 449.1
        448.6; 778.9 777; 559.2 558.2; 0.3 0.4; 0.1 0.6; 778.1 775.5; 668.8 666.9; 339.3 338; 448.9 447.5;
        10.8 11.6; 557.7 556; 228.3 228.1; 998 995.8; 888.8 887.6; 119.6 120.2; 0.3 0.3; 0.6 0.3; 557.6 556.8;
        339.3 339.1; 888 887.2; 998.5 999; 778.9 779; 10.2 11.1; 117.6 118.3; 228.9 229.2; 668.4 669.1; 449.2
        448.9; 0.2 0.5
    """,
    "pontius": """
        0.11019 150000; 0.21956 300000; 0.32949 450000; 0.43899 600000; 0.54803 750000; 0.65694 900000;
        0.76562 1050000; 0.87487 1200000; 0.98292 1350000; 1.09146 1500000; 1.20001 1650000; 1.30822 1800000;
        1.41599 1950000; 1.52399 2100000; 1.63194 2250000; 1.73947 2400000; 1.84646 2550000; 1.95392 2700000;
        2.06128 2850000; 2.16844 3000000; 0.11052 150000; 0.22018 300000; 0.32939 450000; 0.43886 600000;
        0.54798 750000; 0.65739 900000; 0.76596 1050000; 0.87474 1200000; 0.983 1350000; 1.0915 1500000;
        1.20004 1650000; 1.30818 1800000; 1.41613 1950000; 1.52408 2100000; 1.63159 2250000; 1.73965 2400000;
        1.84696 2550000; 1.95445 2700000; 2.06177 2850000; 2.16829 3000000
    """,
    "noint1": """
        130 60; 131 61; 132 62; 133 63; 134 64; 135 65; 136 66; 137 67; 138 68; 139 69; 140 70
    """,
    "noint2": """
        3 4; 4 5; 4 6
    """,
    "filip": """
        0.8116 -6.860120914; 0.9072 -4.324130045; 0.9052 -4.358625055; 0.9039 -4.358426747; 0.8053
        -6.955852379; 0.8377 -6.661145254; 0.8667 -6.355462942; 0.8809 -6.118102026; 0.7975 -7.115148017;
        0.8162 -6.815308569; 0.8515 -6.519993057; 0.8766 -6.204119983; 0.8885 -5.853871964; 0.8859
        -6.109523091; 0.8959 -5.79832982; 0.8913 -5.482672118; 0.8959 -5.171791386; 0.8971 -4.851705903;
        0.9021 -4.517126416; 0.909 -4.143573228; 0.9139 -3.709075441; 0.9199 -3.499489089; 0.8692
        -6.300769497; 0.8872 -5.953504836; 0.89 -5.642065153; 0.891 -5.031376979; 0.8977 -4.680685696; 0.9035
        -4.329846955; 0.9078 -3.928486195; 0.7675 -8.56735134; 0.7705 -8.363211311; 0.7713 -8.107682739;
        0.7736 -7.823908741; 0.7775 -7.522878745; 0.7841 -7.218819279; 0.7971 -6.920818754; 0.8329
        -6.628932138; 0.8641 -6.323946875; 0.8804 -5.991399828; 0.7668 -8.781464495; 0.7633 -8.663140179;
        0.7678 -8.473531488; 0.7697 -8.247337057; 0.77 -7.971428747; 0.7749 -7.676129393; 0.7796 -7.352812702;
        0.7897 -7.072065318; 0.8131 -6.774174009; 0.8498 -6.478861916; 0.8741 -6.159517513; 0.8061
        -6.835647144; 0.846 -6.53165267; 0.8751 -6.224098421; 0.8856 -5.910094889; 0.8919 -5.598599459; 0.8934
        -5.290645224; 0.894 -4.974284616; 0.8957 -4.64454848; 0.9047 -4.290560426; 0.9129 -3.885055584; 0.9209
        -3.408378962; 0.9219 -3.13200249; 0.7739 -8.726767166; 0.7681 -8.66695597; 0.7665 -8.511026475; 0.7703
        -8.165388579; 0.7702 -7.886056648; 0.7761 -7.588043762; 0.7809 -7.283412422; 0.7961 -6.995678626;
        0.8253 -6.691862621; 0.8602 -6.392544977; 0.8809 -6.067374056; 0.8301 -6.684029655; 0.8664
        -6.378719832; 0.8834 -6.065855188; 0.8898 -5.752272167; 0.8964 -5.132414673; 0.8963 -4.811352704;
        0.9074 -4.098269308; 0.9119 -3.66174277; 0.9228 -3.2644011
    """,
    "longley": """
        60323 83 234289 2356 1590 107608 1947; 61122 88.5 259426 2325 1456 108632 1948; 60171 88.2 258054 3682
        1616 109773 1949; 61187 89.5 284599 3351 1650 110929 1950; 63221 96.2 328975 2099 3099 112075 1951;
        63639 98.1 346999 1932 3594 113270 1952; 64989 99 365385 1870 3547 115094 1953; 63761 100 363112 3578
        3350 116219 1954; 66019 101.2 397469 2904 3048 117388 1955; 67857 104.6 419180 2822 2857 118734 1956;
        68169 108.4 442769 2936 2798 120445 1957; 66513 110.8 444546 4681 2637 121950 1958; 68655 112.6 482704
        3813 2552 123366 1959; 69564 114.2 502601 3931 2514 125368 1960; 69331 115.7 518173 4806 2572 127852
        1961; 70551 116.9 554894 4007 2827 130081 1962
    """,
    "wampler1": """
        1 0; 6 1; 63 2; 364 3; 1365 4; 3906 5; 9331 6; 19608 7; 37449 8; 66430 9; 111111 10; 177156 11; 271453
        12; 402234 13; 579195 14; 813616 15; 1118481 16; 1508598 17; 2000719 18; 2613660 19; 3368421 20
    """,
    "wampler2": """
        1 0; 1.11111 1; 1.24992 2; 1.42753 3; 1.65984 4; 1.96875 5; 2.38336 6; 2.94117 7; 3.68928 8; 4.68559
        9; 6 10; 7.71561 11; 9.92992 12; 12.75603 13; 16.32384 14; 20.78125 15; 26.29536 16; 33.05367 17;
        41.26528 18; 51.16209 19; 63 20
    """,
    "wampler3": """
        760 0; -2042 1; 2111 2; -1684 3; 3888 4; 1858 5; 11379 6; 17560 7; 39287 8; 64382 9; 113159 10; 175108
        11; 273291 12; 400186 13; 581243 14; 811568 15; 1121004 16; 1506550 17; 2002767 18; 2611612 19;
        3369180 20
    """,
    "wampler4": """
        75901 0; -204794 1; 204863 2; -204436 3; 253665 4; -200894 5; 214131 6; -185192 7; 221249 8; -138370
        9; 315911 10; -27644 11; 455253 12; 197434 13; 783995 14; 608816 15; 1370781 16; 1303798 17; 2205519
        18; 2408860 19; 3444321 20
    """,
    "wampler5": """
        7590001 0; -20479994 1; 20480063 2; -20479636 3; 25231365 4; -20476094 5; 20489331 6; -20460392 7;
        18417449 8; -20413570 9; 20591111 10; -20302844 11; 18651453 12; -20077766 13; 21059195 14; -19666384
        15; 26348481 16; -18971402 17; 22480719 18; -17866340 19; 10958421 20
    """,
}
# Powers of the predictor, where the model is a polynomial.
DEGREE = {"pontius": 2, "filip": 10, "wampler1": 5, "wampler2": 5, "wampler3": 5, "wampler4": 5, "wampler5": 5}
ORIGIN = {"noint1", "noint2"}
# What NIST publishes: some coefficient, its standard error, R squared.
PUBLISHED = {
    "norris": (0, "-0.262323073774029", "0.232818234301152", "0.999993745883712"),
    "pontius": (2, "-0.316081871345029E-14", "0.486652849992036E-16", "0.999999900178537"),
    "noint1": (0, "2.07438016528926", "0.165289256198347E-01", "0.999365492298663"),
    "noint2": (0, "0.727272727272727", "0.420827318078432E-01", "0.993348115299335"),
    "filip": (0, "-1467.48961422980", "298.084530995537", "0.996727416185620"),
    "longley": (0, "-3482258.63459582", "890420.383607373", "0.995479004577296"),
    "wampler1": (0, "1", "0", "1"),
    "wampler2": (1, "0.1", "0", "1"),
    "wampler3": (0, "1", "2152.32624678170", "0.999995559025820"),
    "wampler4": (0, "1", "215232.624678170", "0.957478440825662"),
    "wampler5": (0, "1", "21523262.4678170", "0.224668921574940E-02"),
}


def inverse(a):
    n = len(a)
    a = [row[:] + [F(int(i == j)) for j in range(n)] for i, row in enumerate(a)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if a[i][k] != 0)
        a[k], a[pivot] = a[pivot], a[k]
        a[k] = [value / a[k][k] for value in a[k]]
        for i in range(n):
            if i != k:
                factor = a[i][k]
                a[i] = [value - factor * own for value, own in zip(a[i], a[k])]
    return [row[n:] for row in a]


def root(value):
    """Square root of a fraction, to far more digits than a double has."""
    from math import isqrt

    scale = 10**60
    return F(isqrt(value.numerator * scale * scale // value.denominator), scale) if value else F(0)


def solve(x, y, origin):
    z = x if origin else [[F(1)] + row for row in x]
    k = len(z[0])
    gram = [[sum(row[i] * row[j] for row in z) for j in range(k)] for i in range(k)]
    right = [sum(row[i] * value for row, value in zip(z, y)) for i in range(k)]
    found = inverse(gram)
    beta = [sum(found[i][j] * right[j] for j in range(k)) for i in range(k)]
    squares = sum((value - sum(b * v for b, v in zip(beta, row))) ** 2 for row, value in zip(z, y))
    mean = 0 if origin else sum(y) / len(y)
    total = sum((value - mean) ** 2 for value in y)
    variance = squares / (len(y) - k)
    return {
        "estimate": [float(b) for b in beta],
        "std_error": [float(root(variance * found[i][i])) for i in range(k)],
        "r2": [float(1 - squares / total)],
        "fitted": [float(sum(b * v for b, v in zip(beta, row))) for row in z],
    }


def main():
    made = {}
    for name, text in DATA.items():
        rows = [row.split() for row in text.split(";")]
        degree = DEGREE.get(name)
        decimal = [[F(value) for value in row] for row in rows]
        double = [[float(value) for value in row] for row in rows]
        powers = lambda row: [row[1] ** k for k in range(1, degree + 1)] if degree else row[1:]
        exact = [powers(row) for row in decimal]
        given = [powers(row) for row in double]
        certified = solve(exact, [row[0] for row in decimal], name in ORIGIN)
        fitted = certified.pop("fitted")
        as_given = solve([[F(v) for v in row] for row in given], [F(row[0]) for row in double], name in ORIGIN)
        as_given.pop("fitted")
        place, *published = PUBLISHED[name]
        own = (certified["estimate"][place], certified["std_error"][place], certified["r2"][0])
        for value, known in zip(own, published):
            assert abs(value - float(known)) <= 6e-15 * abs(float(known)), (name, value, known)
        made[name] = {
            "cols": len(given[0]),
            "x": [value for row in given for value in row],
            "y": [row[0] for row in double],
            "base": [row[1] for row in double],
            "degree": degree or 0,
            "intercept": name not in ORIGIN,
            "certified": certified,
            "fitted": fitted,
            "as_given": as_given,
        }
    Path(__file__).with_name("nist.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
