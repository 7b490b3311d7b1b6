package upstream

import (
	"sync"
	"time"

	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// estimate says how long the compilation still takes.
type estimate struct {
	mu      sync.Mutex
	log     *stage.Log
	recipes int
	seconds int
}

func newEstimate(log *stage.Log, recipes []recipe.Recipe) *estimate {
	e := &estimate{log: log, recipes: len(recipes)}
	for _, r := range recipes {
		e.seconds += r.Seconds
	}
	e.print("compile %d projects: about %s on 2 idle cores\n")
	return e
}

// without subtracts a finished recipe.
func (e *estimate) without(r recipe.Recipe) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recipes--
	e.seconds -= r.Seconds
	e.print("%d projects left: about %s\n")
}

func (e *estimate) print(format string) {
	if e.recipes > 0 {
		e.log.Printf(format, e.recipes, (time.Duration(e.seconds) * time.Second).Round(10*time.Second))
	}
}
