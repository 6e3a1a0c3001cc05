// Special functions of one or two numbers, in double.
#ifndef WEFT_GRAPH_OPS_ELEMENTWISE_SPECIAL_H_
#define WEFT_GRAPH_OPS_ELEMENTWISE_SPECIAL_H_

namespace weft::ops {

// The derivative of log gamma. Infinite at -0.0 and 0.0, NaN at the negative integers.
double Digamma(double x);
// The sum of (n + q)^-x over n = 0, 1, ...: infinite for x = 1 and for q = 0, -1,
// ..., NaN for x < 1 and for other q below 0 unless x is an integer.
double Zeta(double x, double q);
// Derivative n of digamma.
double Polygamma(int n, double x);

// exp(x^2) erfc(x).
double Erfcx(double x);
// The inverses of erf and of the normal distribution function.
double Erfinv(double p);
double Ndtri(double p);

// exp(-|x|) I_n(x), a modified Bessel function of the first kind, n = 0 or 1.
double BesselIe(int n, double x);

// The regularized lower and upper incomplete gamma functions.
double GammaP(double a, double x);
double GammaQ(double a, double x);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_ELEMENTWISE_SPECIAL_H_
