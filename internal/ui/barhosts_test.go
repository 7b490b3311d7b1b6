package ui

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFailedHostsAreFirst: of 100 hosts, a terminal of 24 rows shows the failed one, then those at work.
func TestFailedHostsAreFirst(t *testing.T) {
	hosts := &barHosts{}
	var all []*barHost
	for i := range 100 {
		all = append(all, hosts.add(fmt.Sprintf("node%03d", i+1)))
	}
	for i, h := range all[:70] {
		h.Step(2, 37, "Install the packages")
		switch {
		case i == 65:
			h.End(errors.New("no room\non /var"))
		case i < 60:
			h.End(nil)
		}
	}
	heading, lines := hosts.content()
	assert.Equal(t, "60 of 100 hosts done, 1 failed, 9 working, 30 waiting", heading)
	some, left := fit(lines, 20)
	assert.Len(t, some, 19)
	assert.Equal(t, 81, left)
	assert.Equal(t, Line{Mark: "FAILED", Tone: Bad, Name: "node066", Text: "0s  no room"}, some[0])
	assert.Equal(t, Line{Mark: "2/37", Name: "node061", Text: "0s  Install the packages"}, some[1])

	assert.Equal(t, waiting, hosts.add("node066").state, "the host is tried again")
	heading, _ = hosts.content()
	assert.Equal(t, "60 of 100 hosts done, 9 working, 31 waiting", heading)
}

// TestQueue: hosts that ended other work wait again, those that failed or work do not, and new ones have a line.
func TestQueue(t *testing.T) {
	hosts := &barHosts{}
	hosts.add("a").End(nil)
	hosts.add("b").End(errors.New("no room"))
	hosts.add("c").Now("drain")
	hosts.queue([]string{"a", "b", "c", "d"})
	heading, lines := hosts.content()
	assert.Equal(t, "0 of 4 hosts done, 1 failed, 1 working, 2 waiting", heading)
	assert.Equal(t, "a", lines[2].Name)
	hosts.add("a").Now("drain")
	heading, _ = hosts.content()
	assert.Equal(t, "0 of 4 hosts done, 1 failed, 2 working, 1 waiting", heading)
	Queue(Discard(), []string{"a"}) // shows nothing
}
