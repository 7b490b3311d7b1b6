package upgrade

import "context"

// shareDebts sends the debts to the cluster, and brings those of other control-plane hosts here. Without an answer, a later
// call does so.
func (r *rollout) shareDebts(ctx context.Context) {
	if r.client == nil {
		return
	}
	if err := r.debts.ShareSoon(ctx, r.client); err != nil && r.p != nil {
		r.p.Say("warning: %v; the next command sends it", err)
	}
}
