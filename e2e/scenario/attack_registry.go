package scenario

import "context"

// attackRegistry plays item 7: pushes that pose as a bundle's images.
func (e *Env) attackRegistry(context.Context, target) []part { return nil }
