package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// byHand shows the command for hosts without SSH access, and waits until its result is visible.
func (r *rollout) byHand(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error, flags ...string) error {
	command := "upgrade node"
	if r.leftCluster(nodes[0]) {
		command = "join"
	}
	line, err := commandAt(r, command)
	if err != nil {
		return err
	}
	r.p.Say("%s", handText(nodes, strings.Join(append([]string{line}, flags...), " ")))
	if command == "join" {
		r.p.Say("It asks for a join token. Create one here in another terminal: airgap join --new-token --node %[1]s\n"+
			"If %[1]s is lost: press Ctrl-C, then run airgap remove %[1]s --force, and airgap rollback again", nodes[0].Name)
	}
	r.p.Now("Wait for " + hostrange.Join(namesOf(nodes)))
	defer r.p.Now("")
	return r.await(ctx, nodes, done, 0)
}

// commandAt returns a command for other hosts with its arguments.
func commandAt(r *rollout, command string) (string, error) {
	if r.line != nil {
		return r.line(command)
	}
	return join.CommandAt(r.site, command)
}

// handText is the command for the user, with the hosts as ranges. Hosts of several racks have a line for each rack: the
// racks may be the work of several people.
func handText(nodes []config.Node, line string) string {
	const how = "with this bundle's airgap.rpm installed (rpm -U --oldpackage --replacepkgs airgap.rpm), run"
	racks := byRack(nodes)
	if len(racks) == 1 {
		return fmt.Sprintf("on %s, %s:\n  %s", hostrange.Join(namesOf(nodes)), how, line)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "on each of %s, %s:\n  %s", ui.Count(len(nodes), "host"), how, line)
	for _, some := range racks {
		fmt.Fprintf(&text, "\n  %s: %s", rackOf(some[0]), hostrange.Join(namesOf(some)))
	}
	return text.String()
}

// byRack divides nodes by their rack. Only racks of airgap.yaml count: a list for each subnet helps nobody at the hosts.
func byRack(nodes []config.Node) [][]config.Node {
	if !slices.ContainsFunc(nodes, func(n config.Node) bool { return n.Rack != "" }) {
		return [][]config.Node{nodes}
	}
	var all [][]config.Node
	for _, n := range nodes {
		i := slices.IndexFunc(all, func(some []config.Node) bool { return rackOf(some[0]) == rackOf(n) })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], n)
	}
	return all
}

func namesOf(nodes []config.Node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

const (
	// settle is how long a command waits for other drained hosts when no host of the batch is being drained.
	settle = 2 * time.Second
	// drainWait is how long a drained host waits for those that are still being drained.
	drainWait = 30 * time.Second
)

// handwork is the work of the user on the hosts of a batch, without SSH. It shows one command for all hosts that are
// drained at about the same time, not one for each host.
type handwork struct {
	order  []config.Node // of the batch
	show   func(nodes []config.Node)
	status func(text string)

	mu       sync.Mutex
	draining int             // hosts in work that are not drained
	ready    map[string]bool // drained hosts without a command
	waiting  map[string]bool // hosts with a command that are not done
	timer    *time.Timer     // for ready
	due      time.Time       // of the timer
}

// newHandwork returns the work on a batch of workers.
func newHandwork(r *rollout, nodes []config.Node) (*handwork, error) {
	line, err := commandAt(r, "upgrade node")
	if err != nil {
		return nil, err
	}
	show := func(nodes []config.Node) { r.p.Say("%s", handText(nodes, line)) }
	return &handwork{order: nodes, show: show, status: r.p.Now, ready: map[string]bool{}, waiting: map[string]bool{}}, nil
}

// during does the work on a host. h may be nil.
func (h *handwork) during(name string, do func() error) error {
	if h == nil {
		return do()
	}
	h.mu.Lock()
	h.draining++
	h.mu.Unlock()
	defer h.end(name)
	return do()
}

// drained asks for the command of a drained host.
func (h *handwork) drained(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining--
	h.ready[name] = true
	h.schedule()
}

// end ends the work on a host.
func (h *handwork) end(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ready[name] && !h.waiting[name] { // its drain failed
		h.draining--
		h.schedule()
	}
	delete(h.ready, name)
	delete(h.waiting, name)
	h.report()
}

// close ends the work on the batch.
func (h *handwork) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
	}
	h.status("")
}

// schedule sets the time of the next command. A slow drain does not keep the user from the other hosts.
func (h *handwork) schedule() {
	if len(h.ready) == 0 {
		return
	}
	after := settle
	if h.draining > 0 {
		after = drainWait
	}
	due := time.Now().Add(after)
	switch {
	case h.timer == nil:
		h.timer, h.due = time.AfterFunc(after, h.flush), due
	case due.Before(h.due) && h.timer.Stop():
		h.timer, h.due = time.AfterFunc(after, h.flush), due
	}
}

// flush shows the command for all hosts that are ready.
func (h *handwork) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = nil
	var nodes []config.Node
	for _, n := range h.order {
		if h.ready[n.Name] {
			nodes = append(nodes, n)
			h.waiting[n.Name] = true
		}
	}
	clear(h.ready)
	if len(nodes) > 0 {
		h.show(nodes)
	}
	h.report()
}

// report shows for which hosts airgap waits.
func (h *handwork) report() {
	var names []string
	for _, n := range h.order {
		if h.waiting[n.Name] {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		h.status("")
		return
	}
	h.status(fmt.Sprintf("Wait for %s (%d of %d)", hostrange.Join(names), len(names), len(h.order)))
}
