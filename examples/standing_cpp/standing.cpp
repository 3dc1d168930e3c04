// HyQ stands on four feet. The ground's forces on the feet are external forces of a floating base: with the torques
// that inverse dynamics gives for them, forward dynamics says that nothing moves.
#include <hyq.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

using Vector = std::array<double, 3>;
constexpr int LEGS = 4;
constexpr int LOWER_LEG[LEGS] = {3, 6, 9, 12};  // the bodies of these frames, by the order in robot.json
constexpr Vector FOOT = {0.33, 0, 0};           // of the lower leg's own frame

struct Leg {
    Vector foot;  // in the world
    double R[9];  // the lower leg's axes, row by row
};

std::array<Leg, LEGS> legs_at(const double *q)
{
    double R[LEGS][9], p[LEGS][3];
    hyq_fk(1, q, &R[0][0], &p[0][0]);
    std::array<Leg, LEGS> legs;
    for (int i = 0; i < LEGS; i++) {
        for (int k = 0; k < 3; k++) {
            legs[i].foot[k] = p[i][k] + R[i][3 * k] * FOOT[0] + R[i][3 * k + 1] * FOOT[1] + R[i][3 * k + 2] * FOOT[2];
        }
        std::copy(R[i], R[i] + 9, legs[i].R);
    }
    return legs;
}

// x of A x = b, by elimination; A is positive definite.
Vector solve(std::array<Vector, 3> A, Vector b)
{
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            const double factor = i == k ? 0 : A[i][k] / A[k][k];
            for (int j = 0; j < 3; j++) {
                A[i][j] -= factor * A[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    return {b[0] / A[0][0], b[1] / A[1][1], b[2] / A[2][2]};
}

// Vertical forces c . (1, x, y) of the feet: the least that together are the wrench that holds the base.
std::array<double, LEGS> loads(const std::array<Leg, LEGS> &legs, const double *wrench)
{
    std::array<Vector, 3> A = {};
    for (const Leg &leg : legs) {
        const Vector row = {1, leg.foot[0], leg.foot[1]};
        for (int i = 0; i < 9; i++) {
            A[i / 3][i % 3] += row[i / 3] * row[i % 3];
        }
    }
    const Vector c = solve(A, {wrench[2], -wrench[4], wrench[3]});  // force z, torques about y and x
    std::array<double, LEGS> found;
    for (int i = 0; i < LEGS; i++) {
        found[i] = c[0] + c[1] * legs[i].foot[0] + c[2] * legs[i].foot[1];
    }
    return found;
}

int main()
{
    // the base at the origin, not turned; the legs bent, those behind the other way
    double q[HYQ_NQ] = {0, 0, 0, 0, 0, 0, 1, 0, 0.75, -1.5, 0, -0.75, 1.5, 0, 0.75, -1.5, 0, -0.75, 1.5};
    double v[HYQ_NV] = {}, a[HYQ_NV] = {}, off[HYQ_NV] = {}, tau[HYQ_NV], f_ext[HYQ_N_BODIES][6] = {};
    hyq_id(1, q, v, a, tau);
    const auto legs = legs_at(q);
    const auto forces = loads(legs, tau);
    for (int i = 0; i < LEGS; i++) {
        double *const f = f_ext[LOWER_LEG[i]];  // [force; torque] at the origin of the lower leg, in its axes
        for (int k = 0; k < 3; k++) {
            f[k] = legs[i].R[6 + k] * forces[i];
        }
        f[3] = FOOT[1] * f[2] - FOOT[2] * f[1];
        f[4] = FOOT[2] * f[0] - FOOT[0] * f[2];
        f[5] = FOOT[0] * f[1] - FOOT[1] * f[0];
        std::printf("foot %d  x %6.3f  y %6.3f  z %6.3f m  carries %6.1f N\n", i, legs[i].foot[0], legs[i].foot[1],
                    legs[i].foot[2], forces[i]);
    }
    hyq_id_f_ext(1, q, v, a, &f_ext[0][0], tau);
    double unbalanced = 0, largest = 0;
    for (int k = 0; k < 6; k++) {
        unbalanced = std::fmax(unbalanced, std::fabs(std::exchange(tau[k], 0)));  // no motor moves the base
    }
    hyq_fd(1, q, v, off, a);
    std::printf("in the air with its motors off the base falls by %.3f m/s^2\n", -a[2]);
    hyq_fd_f_ext(1, q, v, tau, &f_ext[0][0], a);
    for (double x : a) {
        largest = std::fmax(largest, std::fabs(x));
    }
    std::printf("on its feet it accelerates by %.1e m/s^2, no joint by more than %.1e rad/s^2\n", std::fabs(a[2]), largest);
    return unbalanced < 1e-9 && largest < 1e-9 ? 0 : 1;
}
