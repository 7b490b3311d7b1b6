package plan

import (
	"errors"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
)

// trustChanged adds a hint to an error about weaker signatures of a repository.
func trustChanged(err error) error {
	changed, is := errors.AsType[*rpm.TrustError](err)
	switch {
	case !is:
		return err
	case changed.Required:
		return advice.Add(err, "ask the operator of the repository for the signature; set signedMetadata: optional in packages.repositories only if the vendor does not sign the metadata")
	default:
		return advice.Add(err, "confirm the change with the vendor through another channel, then run airgap bundle --update %s", changed.Repository)
	}
}

// runtimeConflict adds a hint if the runtime's package conflicts with installed packages.
func runtimeConflict(c *config.Cluster, err error) error {
	plan, is := errors.AsType[*rpm.PlanError](err)
	about := func(problem string) bool { return strings.Contains(problem, c.Runtime.Package()) }
	if !is || c.Runtime.Package() == "" || !slices.ContainsFunc(plan.Problems, about) {
		return err
	}
	return advice.Add(err, "set runtime.source: archive, which installs %s without a change to the packages on the servers", c.Runtime.Name)
}
