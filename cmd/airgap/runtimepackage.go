package main

import (
	"errors"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/config"
)

// runtimeInTheWay adds what else there is where the runtime's package does not go together
// with what the servers have.
func runtimeInTheWay(c *config.Cluster, err error) error {
	plan, is := errors.AsType[*rpm.PlanError](err)
	about := func(problem string) bool { return strings.Contains(problem, c.Runtime.Package()) }
	if !is || c.Runtime.Package() == "" || !slices.ContainsFunc(plan.Problems, about) {
		return err
	}
	return hint(err, "runtime.source: archive brings %s beside the packages that the servers have, and touches none of them", c.Runtime.Name)
}
