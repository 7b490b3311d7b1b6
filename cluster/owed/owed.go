// Package owed records which hosts a command left out: with --limit or --except, or because they failed. The same
// command picks them up later.
package owed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
)

// Commands that owe hosts something.
const (
	Join     = "join" // airgap install: the host is not a node, or does not have the changes of the bundle
	Upgrade  = "upgrade"
	Rollback = "rollback"
)

// Debt is a host that a command left out.
type Debt struct {
	Node    string    `json:"node"`
	Command string    `json:"command"` // Join, Upgrade or Rollback
	Why     string    `json:"why"`     // the error, or "left out with --limit"
	Since   time.Time `json:"since"`
}

// Again returns the command that picks the host up.
func (d Debt) Again() string {
	switch d.Command {
	case Join:
		return "airgap install DIR"
	case Upgrade:
		return "airgap upgrade DIR"
	}
	return "airgap " + d.Command
}

// maxWhy is the longest reason that the record keeps. The log of the host has the whole error.
const maxWhy = 400

// File is the path of a record. Only one command at a time changes it: the one with the lock of this host.
type File string

// Record is the record of this host.
const Record = File(site.OwedFile)

// Read returns the debts, in the order of their names. There are none without a record.
func Read() ([]Debt, error) { return Record.Read() }

// Owe adds debts. An older debt of the same node and command keeps its time.
func Owe(debts ...Debt) error { return Record.Owe(debts...) }

// Paid removes the debts of these nodes for a command.
func Paid(command string, nodes ...string) error { return Record.Paid(command, nodes...) }

// Forget removes all debts of nodes, such as removed ones.
func Forget(nodes ...string) error { return Record.Forget(nodes...) }

// Read returns the debts, in the order of their names. There are none without a record.
func (f File) Read() ([]Debt, error) {
	debts, err := host.ReadJSON[[]Debt](string(f))
	if err != nil {
		return nil, fmt.Errorf("read the record of owed hosts: %w", err)
	}
	return debts, nil
}

// Owe adds debts. An older debt of the same node and command keeps its time.
func (f File) Owe(debts ...Debt) error {
	if len(debts) == 0 {
		return nil
	}
	return f.change(func(all []Debt) []Debt {
		for _, d := range debts {
			d.Why = short(d.Why)
			if d.Since.IsZero() {
				d.Since = time.Now()
			}
			d.Since = d.Since.UTC().Truncate(time.Second)
			if i := slices.IndexFunc(all, d.same); i >= 0 {
				d.Since = all[i].Since
				all[i] = d
			} else {
				all = append(all, d)
			}
		}
		return all
	})
}

func (d Debt) same(other Debt) bool { return d.Node == other.Node && d.Command == other.Command }

// short is the beginning of a reason, in one line.
func short(why string) string {
	why = strings.Join(strings.Fields(why), " ")
	if runes := []rune(why); len(runes) > maxWhy {
		return string(runes[:maxWhy]) + "…"
	}
	return why
}

// Paid removes the debts of these nodes for a command.
func (f File) Paid(command string, nodes ...string) error {
	return f.drop(func(d Debt) bool { return d.Command == command && slices.Contains(nodes, d.Node) })
}

// Forget removes all debts of nodes, such as removed ones.
func (f File) Forget(nodes ...string) error {
	return f.drop(func(d Debt) bool { return slices.Contains(nodes, d.Node) })
}

// drop removes debts. It does not write a record that has none of them.
func (f File) drop(is func(Debt) bool) error {
	all, err := f.Read()
	if err != nil || !slices.ContainsFunc(all, is) {
		return err
	}
	return f.change(func(all []Debt) []Debt { return slices.DeleteFunc(all, is) })
}

func (f File) change(change func([]Debt) []Debt) error {
	all, err := f.Read()
	if err != nil {
		return err
	}
	all = change(all)
	slices.SortStableFunc(all, func(a, b Debt) int {
		return strings.Compare(a.Node+" "+a.Command, b.Node+" "+b.Command)
	})
	if err := host.WriteJSON(string(f), all); err != nil {
		return fmt.Errorf("record owed hosts: %w", err)
	}
	return nil
}
