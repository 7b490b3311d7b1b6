package owed

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// change is a change of the record: a debt that is added, or debts that are removed.
type change struct {
	Owe     *Debt  `json:"owe,omitempty"` // nil: the debts of Node for Command are removed
	Node    string `json:"node"`
	Command string `json:"command,omitempty"` // "": all debts of the node
}

// covers reports whether a change makes an earlier one unnecessary.
func (c change) covers(earlier change) bool {
	return c.Node == earlier.Node && (c.Command == earlier.Command || c.Command == "")
}

// applied returns the debts after the changes, in the order of their names.
func applied(debts []Debt, changes []change) []Debt {
	all := slices.Clone(debts)
	for _, c := range changes {
		i := slices.IndexFunc(all, func(d Debt) bool { return d.Node == c.Node && d.Command == c.Command })
		switch {
		case c.Owe == nil:
			all = slices.DeleteFunc(all, func(d Debt) bool { return d.Node == c.Node && (c.Command == "" || d.Command == c.Command) })
		case i >= 0:
			since := all[i].Since
			all[i] = *c.Owe
			all[i].Since = since
		default:
			all = append(all, *c.Owe)
		}
	}
	slices.SortStableFunc(all, func(a, b Debt) int {
		return strings.Compare(a.Node+" "+a.Command, b.Node+" "+b.Command)
	})
	return all
}

func equal(a, b []Debt) bool {
	return slices.EqualFunc(a, b, func(a, b Debt) bool {
		return a.Node == b.Node && a.Command == b.Command && a.Why == b.Why && a.Since.Equal(b.Since)
	})
}

// unsentFile has the changes that the cluster does not have yet. Without it, the cluster has none of the record: an older
// airgap wrote it, or the record was never sent.
func (f File) unsentFile() string { return strings.TrimSuffix(string(f), ".json") + "-unsent.json" }

// unsent returns the changes that the cluster does not have. before is the record of this host.
func (f File) unsent(before []Debt) ([]change, error) {
	changes, err := host.ReadJSON[*[]change](f.unsentFile())
	if err != nil {
		return nil, fmt.Errorf("read the changes of the record of owed hosts: %w", err)
	}
	if changes != nil {
		return *changes, nil
	}
	var all []change
	for _, d := range before {
		all = append(all, change{Owe: &d, Node: d.Node, Command: d.Command})
	}
	return all, nil
}

// noteUnsent adds changes for the cluster.
func (f File) noteUnsent(before []Debt, changes []change) error {
	all, err := f.unsent(before)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.Owe != nil { // it keeps the time of an earlier one
			if i := slices.IndexFunc(all, func(e change) bool { return e.Owe != nil && c.covers(e) }); i >= 0 {
				first := *c.Owe
				first.Since = all[i].Owe.Since
				c.Owe = &first
			}
		}
		all = append(slices.DeleteFunc(all, c.covers), c)
	}
	return f.writeUnsent(all)
}

func (f File) writeUnsent(all []change) error {
	if all == nil {
		all = []change{}
	}
	if err := host.WriteJSON(f.unsentFile(), all); err != nil {
		return fmt.Errorf("record owed hosts: %w", err)
	}
	return nil
}

// SendAgain has the next Share send the whole record: the cluster is restored from a time before some of its changes.
func (f File) SendAgain() error {
	if err := os.Remove(f.unsentFile()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("record owed hosts: %w", err)
	}
	return nil
}
