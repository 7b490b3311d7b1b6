package upgrade

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
)

// fail takes the failure of a worker. The run goes on while no more workers than --max-failures have failed.
func (r *rollout) fail(name string, err error) error {
	p := &r.pace
	if len(p.failed) >= p.Choice.MaxFailures {
		return named(name, err)
	}
	node, _ := r.site.Config.Node(name) // it is one of airgap.yaml
	p.failed = append(p.failed, fleet.FailedHost(name, node.Address, err))
	r.p.Say("%s FAILED (%d of %d permitted failures) and is owed: %v", name, len(p.failed), p.Choice.MaxFailures, err)
	return p.owe(r.debts, err.Error(), name)
}

// named adds the name of a host to its error.
func named(name string, err error) error {
	if strings.HasPrefix(err.Error(), name+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// takeFailed takes the workers that failed before their turn, at the login, in the checks or in the preparation: the fleet
// goes on without them. It changes no record, so a dry run calls it, too.
func (r *rollout) takeFailed() {
	if r.leftOut == nil {
		return
	}
	for _, l := range r.leftOut() {
		if l.Failure() != nil && !r.pace.hasFailed(l.Node) {
			r.pace.failed = append(r.pace.failed, l)
		}
	}
}

// withoutFailed is takeFailed for a run that goes on: it owes these workers its changes.
func withoutFailed(r *rollout) error {
	r.takeFailed()
	for _, l := range r.pace.failed {
		if err := r.pace.owe(r.debts, l.Why, l.Node); err != nil {
			return err
		}
	}
	return nil
}

// withEarlier adds the permitted failures to the error that stopped the run. It is a failure, and no run that went on.
func (p *pace) withEarlier(err error) error {
	_, named := errors.AsType[*fleet.IncompleteError](err)
	if len(p.failed) == 0 || named {
		return err
	}
	all := &fleet.IncompleteError{Others: p.known, Left: p.failed}
	return advice.Add(fmt.Errorf("%w\nbefore that, %v", err, all), "%s", advice.Of(err)) //nolint:errorlint // its exit code is for a run that went on
}

// hasFailed reports whether a worker has failed in this run, which went on.
func (p *pace) hasFailed(name string) bool {
	return slices.ContainsFunc(p.failed, func(l fleet.LeftOut) bool { return l.Node == name })
}

// standing returns the nodes that have not failed in this run.
func (p *pace) standing(nodes []config.Node) []config.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n config.Node) bool { return p.hasFailed(n.Name) })
}

// failedNames are the workers that failed in this run.
func (p *pace) failedNames() []string {
	var names []string
	for _, l := range p.failed {
		names = append(names, l.Node)
	}
	return names
}

// notWorking returns the workers that failed in this run, and those that the run leaves out.
func (p *pace) notWorking() []string {
	return append(slices.Sorted(maps.Keys(p.except)), p.failedNames()...)
}

// failures returns one error for the workers that failed, or nil.
func (p *pace) failures() error {
	if len(p.failed) == 0 {
		return nil
	}
	all := &fleet.IncompleteError{Others: p.known, Left: slices.Clone(p.failed)}
	return advice.Replace(all, "fix the problems and run the same command again: it continues with these workers; to finish without them, add --except %s",
		strings.ReplaceAll(hostrange.Join(p.failedNames()), ", ", ","))
}
