package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestEstimate: the first new hosts show how long the others take. Nodes that are updated, and hosts that fail, do not.
func TestEstimate(t *testing.T) {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	node, fresh := &Member{Joined: true}, &Member{}
	e := newEstimate("worker", []*Member{node, fresh, fresh, fresh, fresh, fresh, fresh}, 2, say)
	e.joined(node, time.Second)
	e.joined(fresh, 10*time.Minute)
	e.joined(fresh, 20*time.Minute)
	e.failed(fresh)
	e.failed(node)
	e.joined(fresh, 30*time.Minute)
	e.joined(fresh, time.Minute)
	e.joined(fresh, time.Minute)
	assert.Equal(t, []string{"about 30 min left for 5 workers, 2 at a time", "about 20 min left for 2 workers, 2 at a time"}, said)

	said = nil
	e = newEstimate("control-plane host", []*Member{fresh, fresh, fresh}, 1, say)
	for range 3 {
		e.joined(fresh, 4*time.Minute)
	}
	assert.Equal(t, []string{"about 8 min left for 2 control-plane hosts, one at a time", "about 4 min left for 1 control-plane host, one at a time"}, said)
}
