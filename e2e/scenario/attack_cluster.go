package scenario

import "context"

// attackCluster plays item 6: the data-plane probe's token.
func (e *Env) attackCluster(context.Context, target) []part { return nil }
