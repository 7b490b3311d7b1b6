package upgraderecord

import (
	"fmt"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/attribution"
	"airgap.dev/airgap/verify/result"
)

// Attributed has what an upgrade must know to attribute findings to hosts. A run that continues needs it, too.
type Attributed struct{ Dir string }

// Findings is the data of the upgrade on this host. A new upgrade removes that of the last one.
func Findings() Attributed { return Attributed{site.UpgradeDir} }

// Names in UpgradeDir.
const (
	RanDir        = "ran"
	ElsewhereFile = "elsewhere.json"
)

// Elsewhere is a finding that is not because of the hosts that were changed before it was found.
type Elsewhere struct {
	result.KnownFinding

	Hosts  []string `json:"hosts"`  // that were changed
	Stands bool     `json:"stands"` // the last comparison found it, too
}

func (a Attributed) ranOn(name string) string {
	return filepath.Join(a.Dir, RanDir, name+".json")
}

// NoteRan adds the workloads with pods on a host, before the host is changed. An interrupted drain has evicted a part
// of them, so that the next run does not see these.
func (a Attributed) NoteRan(name string, owners []string) error {
	all, err := host.ReadJSON[[]string](a.ranOn(name))
	if err != nil {
		return err
	}
	all = slices.Compact(slices.Sorted(slices.Values(append(all, owners...))))
	if all == nil {
		all = []string{}
	}
	return host.WriteJSON(a.ranOn(name), all)
}

// Change returns the change of these hosts. before is the state before the upgrade.
func (a Attributed) Change(hosts []string, before result.Snapshot) (attribution.Change, error) {
	c := attribution.Change{Hosts: hosts, Ran: map[string][]string{}}
	for _, name := range hosts {
		owners, err := host.ReadJSON[[]string](a.ranOn(name))
		if err != nil {
			return c, err
		}
		if owners != nil { // else unknown
			c.Ran[name] = append(owners, attribution.OnHost(before, name)...)
		}
	}
	return c, nil
}

// Elsewhere returns the findings that did not stop the upgrade.
func (a Attributed) Elsewhere() ([]Elsewhere, error) {
	return host.ReadJSON[[]Elsewhere](filepath.Join(a.Dir, ElsewhereFile))
}

// Note adds the new findings of a comparison after the change of these hosts, and notes which earlier ones still stand.
func (a Attributed) Note(hosts []string, r result.Report) (added []Elsewhere, err error) {
	all, err := a.Elsewhere()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if r.Snapshot == nil { // the cluster was never seen
			break
		}
		all[i].Stands = slices.ContainsFunc(r.KnownFindings, func(f result.KnownFinding) bool {
			return f.Rule == all[i].Rule && f.StableName == all[i].StableName
		})
	}
	for _, f := range r.KnownFindings {
		if f.Elsewhere {
			added = append(added, Elsewhere{f, hosts, true})
		}
	}
	if len(all)+len(added) == 0 {
		return nil, nil
	}
	return added, host.WriteJSON(filepath.Join(a.Dir, ElsewhereFile), append(all, added...))
}

// String is the finding as a line.
func (e Elsewhere) String() string {
	return fmt.Sprintf("%s: %s", result.OneLine(e.Object), result.OneLine(e.Saw))
}
