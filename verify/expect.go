package verify

// expectation says whether the objects that a rule judges are there. A rule without
// findings holds only if it looked at something: absence is not health.
type expectation struct {
	// missing says which objects should be there and are not: the rule is unseen. "" when
	// all are.
	missing string
	// nothing says why the cluster may be without any of them: the rule does not apply,
	// or, where a user asked for this very rule, is unseen.
	nothing string
}
