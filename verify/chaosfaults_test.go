package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// pace is the speed of a chaos test.
type pace struct {
	bound  time.Duration // freshness bound of the engine
	slack  time.Duration // time until a report
	length time.Duration // length of the script
	mark   time.Duration // between bookmarks of the proxy; 0: those of the API server are enough
}

// fault is an effect of the proxy on a request.
type fault string

const (
	unauthorized fault = "401"
	denied       fault = "403"
	notFound     fault = "404"
	tooMany      fault = "429"
	gone         fault = "410"
	goneDuring   fault = "410 during a streaming list"
	internal     fault = "500"
	goAway       fault = "GOAWAY"
	cut          fault = "cut stream"
	slow         fault = "slow answer"
	mute         fault = "silent watch"
	older        fault = "older version"
	unreadable   fault = "unreadable object"
	hangUp       fault = "lost connections"
	dead         fault = "dead connection" // no traffic, without an error
	short        fault = "short watch"     // it ends without an event
)

// faultPeriod is a time in which every request for a kind meets the same fault. The kind "" means all
// other requests: /readyz, the version, discovery.
type faultPeriod struct {
	fault    fault
	kinds    []kind
	from, to time.Duration // since the plan began
	variant  int           // of the answer, for example a value of Retry-After
}

func (s faultPeriod) covers(k kind, at time.Duration) bool {
	return at >= s.from && at < s.to && slices.Contains(s.kinds, k)
}

func (s faultPeriod) String() string {
	return fmt.Sprintf("%s of %v from %s to %s", s.fault, s.kinds, s.from.Round(time.Millisecond), s.to.Round(time.Millisecond))
}

// faults returns the faults for fault periods. In real time, faults of the whole server would take too
// long: the engine's limits for them are long.
func (p pace) faults() []fault {
	all := []fault{tooMany, tooMany, gone, goneDuring, internal, denied, notFound, slow, mute, older, unreadable, short}
	if p.mark > 0 {
		return all
	}
	return append(all, hangUp, dead, unauthorized)
}

// plan has the faults of one proxy, by its seed.
type plan struct {
	pace
	random       *rand.Rand
	faultPeriods []faultPeriod
	script       []change // of the cluster
	streams      bool     // the server can begin a watch with a list
	noise        int      // one of noise requests meets a random fault
	ends         time.Duration
}

// newPlan draws the fault periods of a seed. Half of them begin shortly before a change of the cluster,
// so that the engine cannot see the change.
func newPlan(seed uint64, pace pace, changes []change) *plan {
	random := rand.New(rand.NewPCG(seed, 41))
	p := &plan{pace: pace, script: changes, random: random, streams: random.IntN(2) == 0, noise: 8 + random.IntN(40)}
	p.ends = changes[len(changes)-1].at + time.Second
	for range 2 + random.IntN(6) {
		s := faultPeriod{fault: pick(random, pace.faults()...), variant: random.IntN(3)}
		s.from = time.Duration(random.Int64N(int64(p.ends)))
		about := []kind{pick(random, chaosKinds()...)}
		if random.IntN(2) == 0 {
			c := pick(random, changes...)
			s.from, about = max(0, c.at-time.Duration(random.Int64N(int64(pace.bound/5)))), []kind{c.defect.kind}
		}
		s.to = min(s.from+pace.bound/8+time.Duration(random.Int64N(int64(3*pace.bound))), p.ends)
		if s.kinds = about; random.IntN(6) == 0 && pace.mark == 0 {
			s.kinds = append(chaosKinds(), "")
		}
		p.faultPeriods = append(p.faultPeriods, s)
	}
	return p
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// over reports whether a fault of a kind ended after a time, and no fault is active now.
func (p *plan) over(f fault, k kind, after, at time.Duration) bool {
	_, met := p.during(k, at)
	return !met && slices.ContainsFunc(p.faultPeriods, func(s faultPeriod) bool {
		return s.fault == f && slices.Contains(s.kinds, k) && s.to > after && s.to <= at
	})
}

// during returns the fault period of a kind at a time, if any.
func (p *plan) during(k kind, at time.Duration) (faultPeriod, bool) {
	for _, s := range p.faultPeriods {
		if s.covers(k, at) {
			return s, true
		}
	}
	return faultPeriod{}, false
}

// chance returns the fault of a single request, if any.
func (p *plan) chance(at time.Duration) (fault, bool) {
	if p.noise == 0 || at >= p.ends || p.random.IntN(p.noise) != 0 {
		return "", false
	}
	return pick(p.random, tooMany, gone, internal, goAway, cut, slow), true
}

func (p *plan) String() string {
	lines := []string{fmt.Sprintf("streams %v, one of %d requests fails at random", p.streams, p.noise)}
	for _, s := range p.faultPeriods {
		lines = append(lines, s.String())
	}
	for _, c := range p.script {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}
