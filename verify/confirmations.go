package verify

import (
	"sync"
	"time"

	"airgap.dev/airgap/verify/result"
)

// confirmations has the confirmations of a run, by kind and namespace.
type confirmations struct {
	mu  sync.Mutex
	all []*confirmation
}

func (c *confirmations) of(k kind, namespace string) *confirmation {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		if one.kind == k && one.namespace == namespace {
			return one
		}
	}
	one := &confirmation{kind: k, namespace: namespace}
	c.all = append(c.all, one)
	return one
}

// results returns one entry for each kind, for the report.
func (c *confirmations) results(now time.Time) []result.KindResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []result.KindResult
	at := map[kind]int{}
	for _, one := range c.all {
		if _, there := at[one.kind]; !there {
			at[one.kind] = len(all)
			all = append(all, result.KindResult{Kind: string(one.kind)})
		}
		one.addTo(&all[at[one.kind]], now)
	}
	return all
}

func (c *confirmation) addTo(r *result.KindResult, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Age = max(r.Age, now.Sub(c.at).Seconds())
	r.Restarts += max(c.opened-1, 0)
	r.Errors += c.errors
	r.WentBack += c.back
}
