package scenario

import "context"

// attackStick plays items 1 and 2: files of the bundle that change, are links, or differ at the second read.
func (e *Env) attackStick(context.Context, target) []part { return nil }
