package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/registry/trust"
)

// Difference is what one registry lacks that another one has.
type Difference struct {
	Object, Saw, Want, Fix string
}

// warnBefore is when a certificate that the timer should have renewed is told of.
const warnBefore = trust.RenewBefore - 7*24*time.Hour

// hiddenFix names no repository: the name comes from the registry, and the operator copies the line.
const hiddenFix = "push the images under another name, such as team/app; then on that host, below /var/lib/airgap/pushed" + repositoriesPath +
	": runuser -u airgap -- rm -r REPOSITORY, and systemctl restart " + UnitName

// Compare asks the registries of a cluster how they are, which bundles they serve
// and what was pushed to them. What is not on all of them is lost with the hosts that have it. A registry
// that does not answer, or has damage, is a difference of its own.
func Compare(ctx context.Context, registries []*Client) []Difference {
	held := make([]Records, len(registries))
	healths := make([]Health, len(registries))
	silent := make([]error, len(registries))
	var asked sync.WaitGroup
	for i, r := range registries {
		asked.Go(func() {
			if healths[i], silent[i] = r.Health(ctx); silent[i] == nil {
				held[i], _, silent[i] = r.Pushed(ctx, "")
			}
		})
	}
	asked.Wait()
	var found []Difference
	for i, h := range healths {
		if h.Problem != "" {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: h.Problem, Want: "it takes pushes",
				Fix: "on that host: journalctl -u " + UnitName,
			})
		}
		for _, repository := range h.Hidden {
			found = append(found, Difference{
				Object: "Repository " + repository,
				Saw:    registries[i].Addr() + " does not serve what was pushed to it: the name is reserved for bundles",
				Want:   "pushed images have names of the site's own", Fix: hiddenFix,
			})
		}
		if h.Ends != nil && time.Until(*h.Ends) < warnBefore {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: "its certificate ends on " + h.Ends.Format(time.DateOnly), Want: "it was renewed 30 days before its end",
				Fix: "on that host: airgap registry renew; journalctl -u " + renewService,
			})
		}
		for _, d := range h.Damage {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: d.String(), Want: "the bytes that were signed",
				Fix: "on that host: airgap registry import DIR from the stick, or --from ADDRESS:PORT of another registry",
			})
		}
	}
	found = append(found, bundlesApart(registries, healths, silent)...)
	newest := Records{}
	for i, records := range held {
		if silent[i] != nil {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: silent[i].Error(), Want: "it answers",
				Fix: "on that host: systemctl status " + UnitName + "; journalctl -u " + UnitName,
			})
			continue
		}
		for at, record := range records.all() {
			newest.set(at, record)
		}
	}
	for at, record := range newest.all() {
		if d, ok := unequal(registries, held, silent, at, record); ok {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b Difference) int { return cmp.Compare(a.Object, b.Object) })
	return found
}

// bundlesApart are the bundles that not all of the registries that answer serve.
func bundlesApart(registries []*Client, healths []Health, silent []error) []Difference {
	served := map[string]ServedBundle{} // by ID
	for i, h := range healths {
		if silent[i] != nil {
			continue
		}
		for _, b := range h.Bundles {
			served[b.ID] = b
		}
	}
	var found []Difference
	for id, b := range served {
		var have, lack []string
		for i, r := range registries {
			switch {
			case silent[i] != nil:
			case slices.ContainsFunc(healths[i].Bundles, func(o ServedBundle) bool { return o.ID == id }):
				have = append(have, r.Addr())
			default:
				lack = append(lack, r.Addr())
			}
		}
		if len(lack) > 0 {
			found = append(found, Difference{
				Object: "Bundle " + b.Name,
				Saw:    fmt.Sprintf("%s has it, not %s", strings.Join(have, ", "), strings.Join(lack, ", ")),
				Want:   "the same on all registries",
				Fix:    fmt.Sprintf("on %s: airgap registry import --from %s %s; or, where nobody needs it, airgap registry prune on %s", strings.Join(lack, ", "), have[0], id, strings.Join(have, ", ")),
			})
		}
	}
	return found
}

// unequal reports which of the registries that answer do not have the record.
func unequal(registries []*Client, held []Records, silent []error, at Reference, record Record) (Difference, bool) {
	var have, lack []string
	for i, r := range registries {
		switch {
		case silent[i] != nil:
		case held[i][at.Repository][at.Reference].same(record):
			have = append(have, r.Addr())
		default:
			lack = append(lack, r.Addr())
		}
	}
	what := "has it"
	if record.deleted() {
		what = "deleted it"
	}
	return Difference{
		Object: "Image " + at.String(),
		Saw:    fmt.Sprintf("%s %s, not %s", strings.Join(have, ", "), what, strings.Join(lack, ", ")),
		Want:   "the same on all registries",
		Fix:    "airgap status on " + strings.Join(lack, ", ") + " says what keeps it",
	}, len(lack) > 0
}
