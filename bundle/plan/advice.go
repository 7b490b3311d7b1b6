package plan

import (
	"errors"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
)

// trustChanged says what to do where less vouches for a repository than before.
func trustChanged(err error) error {
	changed, is := errors.AsType[*rpm.TrustError](err)
	switch {
	case !is:
		return err
	case changed.Required:
		return advice.Add(err, "ask those who run the repository for its signature; write signedMetadata: optional in packages.repositories only where its vendor signs none")
	default:
		return advice.Add(err, "ask its vendor on another way whether that is right, then take it: airgap bundle --update %s", changed.Repository)
	}
}

// runtimeInTheWay adds what else there is where the runtime's package does not go together
// with what the servers have.
func runtimeInTheWay(c *config.Cluster, err error) error {
	plan, is := errors.AsType[*rpm.PlanError](err)
	about := func(problem string) bool { return strings.Contains(problem, c.Runtime.Package()) }
	if !is || c.Runtime.Package() == "" || !slices.ContainsFunc(plan.Problems, about) {
		return err
	}
	return advice.Add(err, "runtime.source: archive brings %s beside the packages that the servers have, and touches none of them", c.Runtime.Name)
}
