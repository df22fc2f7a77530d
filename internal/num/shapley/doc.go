// Package shapley says what each parameter contributes to what a Gaussian
// process predicts at a point: the Shapley values of its mean, standard
// deviation and upper confidence bound (GP-SHAP: Chau et al. 2023; Adachi et
// al. 2024, §3.3).
//
// The players of the game are the parameters. A coalition S is worth what the
// model would predict if only the parameters in S were known and the others
// averaged over the data's distribution given them. With X the n observed
// points, f̃ and K̃ posterior mean and covariance of f there, this conditional
// mean is estimated by kernel regression on the parameters in S (Proposition
// 4):
//
//	B_S(x) = (k_S(X, X) + λ_S I)⁻¹ k_S(X, x),
//	ν_mean(S) = B_Sᵀ f̃,   ν_sd(S) = √(B_Sᵀ K̃ B_S),   ν_ucb(S) = ν_mean(S) + √β ν_sd(S),
//
// with k_S the model's kernel over the parameters in S, of unit variance; for
// the RBF kernel it is the product of the paper. The Shapley value of parameter
// j is its average contribution over all orders of arrival,
//
//	φ_j = Σ_{S ∌ j} (|S|! (d−|S|−1)! / d!) (ν(S ∪ j) − ν(S)),
//
// over all 2^d coalitions, not a sample of them. The values add up to ν(all) −
// ν(none), which the result holds: ν(all) is close to the model's own
// prediction but smoothed by λ_S.
//
// That is an explanation of what the data tell about x, not of the model at x:
// far from all data B_S vanishes, and with it the standard deviation, where the
// model's own is greatest. With [Config.Replaced] the players arrive in the
// model itself instead (interventional values: Štrumbelj and Kononenko 2014;
// Janzing, Minorics and Blöbaum 2020): a coalition is worth the Gaussian
// variable
//
//	f_S(x) = (1/n) Σ_i f(x_S, X_i without S),
//
// the average over the observed points with the parameters in S replaced by
// those of x. Known to all it is f(x), so that the values of mean, standard
// deviation and bound add up to the posterior's own at x, and a parameter that
// leads away from the data is said to do so. The price: a point put together
// from two need not satisfy the constraints of the space.
//
// Maximization or minimization does not matter here. Everything is a pure
// function of its arguments.
package shapley
