// Package owed records which hosts a command left out: with --limit or --except, or because they failed. The same
// command picks them up later.
package owed

import (
	"fmt"
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

// File is the path of the record on this host. Only one command at a time changes it: the one with the lock of this host.
// The cluster has a copy for the other control-plane hosts (Share).
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
	var changes []change
	for _, d := range debts {
		d.Why = short(d.Why)
		if d.Since.IsZero() {
			d.Since = time.Now()
		}
		d.Since = d.Since.UTC().Truncate(time.Second)
		changes = append(changes, change{Owe: &d, Node: d.Node, Command: d.Command})
	}
	return f.change(changes)
}

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
	var changes []change
	for _, n := range nodes {
		changes = append(changes, change{Node: n, Command: command})
	}
	return f.change(changes)
}

// Done removes the debts of a node for these commands.
func (f File) Done(node string, commands ...string) error {
	var changes []change
	for _, c := range commands {
		changes = append(changes, change{Node: node, Command: c})
	}
	return f.change(changes)
}

// Forget removes all debts of nodes, such as removed ones.
func (f File) Forget(nodes ...string) error { return f.Paid("", nodes...) }

// change notes the changes for the cluster, and makes them here. An interrupted call is repeated by Share.
func (f File) change(changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	before, err := f.Read()
	if err != nil {
		return err
	}
	if err := f.noteUnsent(before, changes); err != nil {
		return err
	}
	return f.write(before, applied(before, changes))
}

// write replaces the record, if it changes.
func (f File) write(before, now []Debt) error {
	if equal(before, now) {
		return nil
	}
	if now == nil {
		now = []Debt{}
	}
	if err := host.WriteJSON(string(f), now); err != nil {
		return fmt.Errorf("record owed hosts: %w", err)
	}
	return nil
}
