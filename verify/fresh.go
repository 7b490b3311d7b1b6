package verify

// unconfirmed says which of these kinds the API server has not confirmed within the
// bound, why and since when; "" when all are confirmed.
func (v view) unconfirmed([]kind) string { return "" }
