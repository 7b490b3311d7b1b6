package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
)

// unknown is a host with a key that no file knows.
type unknown struct {
	*Member
	*remote.HostKeyError
}

// place is the address with its key. A gateway such as PSM for SSH has one for all hosts.
func (u unknown) place() string { return u.host.Addr() + " " + u.Shown() }

// unknownKeys returns one host for each unknown key.
func unknownKeys(members []*Member) (all []unknown) {
	seen := map[string]bool{}
	for _, m := range members {
		key, is := errors.AsType[*remote.HostKeyError](m.Err)
		if !is || !key.Unknown() {
			continue
		}
		if u := (unknown{m, key}); !seen[u.place()] {
			seen[u.place()] = true
			all = append(all, u)
		}
	}
	return all
}

// vouch asks the user to confirm the unknown host keys of all hosts, with one question, and saves them.
func vouch(ctx context.Context, console ui.Console, known *remote.KnownHosts, members []*Member) error {
	all := unknownKeys(members)
	if len(all) == 0 || !console.Attended() {
		return nil
	}
	question := "Type yes if it is the same: "
	if len(all) == 1 {
		console.Tell(fmt.Sprintf("The host key of %s is not known: %s\nOn that host, ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub prints its host keys.", all[0].host, all[0].Shown()))
	} else {
		question = "Type yes if all of them are the same: "
		console.Tell(listOfKeys(all))
	}
	answer, err := console.Ask(ctx, question, false)
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return ctx.Err()
	}
	saved := map[string]bool{}
	for _, u := range all {
		if err := known.Add(u.host, u.Key); err != nil {
			return err
		}
		saved[u.place()] = true
	}
	for _, m := range members {
		if key, is := errors.AsType[*remote.HostKeyError](m.Err); is && key.Unknown() {
			m.confirmed = saved[unknown{m, key}.place()]
		}
	}
	return nil
}

// listOfKeys is the text of one question about many keys.
func listOfKeys(all []unknown) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The host keys of %s are not known:\n", ui.Count(len(all), "host"))
	for _, u := range all {
		fmt.Fprintf(&b, "  %s: %s\n", u.host, u.Shown())
	}
	for _, names := range sameKeys(all) {
		fmt.Fprintf(&b, "Warning: %s show the same key. Servers that were copied have one: make a key for each (ssh-keygen -A).\n", listed(names))
	}
	b.WriteString("On each host, ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub prints its host keys.")
	return b.String()
}

// sameKeys returns the names of hosts with the same key, at different addresses.
func sameKeys(all []unknown) (names [][]string) {
	by, addresses := map[string][]string{}, map[string]map[string]bool{}
	var order []string
	for _, u := range all {
		key := ssh.FingerprintSHA256(u.Key)
		if by[key] == nil {
			order, addresses[key] = append(order, key), map[string]bool{}
		}
		by[key] = append(by[key], u.Node.Name)
		addresses[key][u.host.Addr()] = true
	}
	for _, key := range order {
		if len(addresses[key]) > 1 {
			names = append(names, by[key])
		}
	}
	return names
}

// listKeys adds the unknown keys to the error of a run without a terminal, as lines for ssh.hostKeys.
func listKeys(f *Fleet, err error) error {
	all := append(unknownKeys(f.jumps), unknownKeys(f.Members)...)
	if err == nil || len(all) == 0 || f.console.Attended() {
		return err
	}
	var b strings.Builder
	for _, u := range all {
		fmt.Fprintf(&b, "\n%s %s", u.host.Name, ssh.FingerprintSHA256(u.Key))
	}
	return fmt.Errorf("%w\nCompare these fingerprints with those of the hosts. The correct lines are a file for ssh.hostKeys (also in the file of --ssh-config):%s", err, b.String())
}
