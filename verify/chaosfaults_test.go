package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// pace is how fast a chaos test goes.
type pace struct {
	bound  time.Duration // of freshness, in the engine
	slack  time.Duration // for a verdict to be told
	length time.Duration // of what happens to the cluster
	mark   time.Duration // between bookmarks that the proxy makes; 0: the API server's come often enough
}

// fault is what the proxy does to a request.
type fault string

const (
	unauthorized fault = "401"
	denied       fault = "403"
	notFound     fault = "404"
	tooMany      fault = "429"
	gone         fault = "410"
	goneAmid     fault = "410 amid a streaming list"
	internal     fault = "500"
	goAway       fault = "GOAWAY"
	cut          fault = "cut stream"
	slow         fault = "slow answer"
	mute         fault = "silent watch"
	older        fault = "older version"
	unreadable   fault = "unreadable object"
	hangUp       fault = "lost connections"
	dead         fault = "dead connection" // it carries nothing, and nobody hears of it
	short        fault = "short watch"     // it ends before it says anything
)

// spell is a time in which every request for a kind meets the same fault. Requests for
// "" are all that are not for a kind: /readyz, the version, discovery.
type spell struct {
	fault    fault
	kinds    []kind
	from, to time.Duration // since the plan began
	variant  int           // of the answer: which Retry-After, for example
}

func (s spell) covers(k kind, at time.Duration) bool {
	return at >= s.from && at < s.to && slices.Contains(s.kinds, k)
}

func (s spell) String() string {
	return fmt.Sprintf("%s of %v from %s to %s", s.fault, s.kinds, s.from.Round(time.Millisecond), s.to.Round(time.Millisecond))
}

// faults are those of spells. Where time is real, the engine's limits for a whole server
// are too long for those that concern all of it.
func (p pace) faults() []fault {
	all := []fault{tooMany, tooMany, gone, goneAmid, internal, denied, notFound, slow, mute, older, unreadable, short}
	if p.mark > 0 {
		return all
	}
	return append(all, hangUp, dead, unauthorized)
}

// plan is what one proxy does, by its seed.
type plan struct {
	pace
	random  *rand.Rand
	spells  []spell
	script  []change // of the cluster
	streams bool     // the server can begin a watch with a list
	noise   int      // one of so many requests meets a fault by chance
	ends    time.Duration
}

// newPlan draws the spells of a seed. Half of them begin a moment before something in the
// cluster changes, so that the change happens while nobody can see it.
func newPlan(seed uint64, pace pace, changes []change) *plan {
	random := rand.New(rand.NewPCG(seed, 41))
	p := &plan{pace: pace, script: changes, random: random, streams: random.IntN(2) == 0, noise: 8 + random.IntN(40)}
	p.ends = changes[len(changes)-1].at + time.Second
	for range 2 + random.IntN(6) {
		s := spell{fault: pick(random, pace.faults()...), variant: random.IntN(3)}
		s.from = time.Duration(random.Int64N(int64(p.ends)))
		about := []kind{pick(random, chaosKinds()...)}
		if random.IntN(2) == 0 {
			c := pick(random, changes...)
			s.from, about = max(0, c.at-time.Duration(random.Int64N(int64(pace.bound/5)))), []kind{c.ailment.kind}
		}
		s.to = min(s.from+pace.bound/8+time.Duration(random.Int64N(int64(3*pace.bound))), p.ends)
		if s.kinds = about; random.IntN(6) == 0 && pace.mark == 0 {
			s.kinds = append(chaosKinds(), "")
		}
		p.spells = append(p.spells, s)
	}
	return p
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// over tells whether a kind had this fault after a time, and has none now.
func (p *plan) over(f fault, k kind, after, at time.Duration) bool {
	_, met := p.during(k, at)
	return !met && slices.ContainsFunc(p.spells, func(s spell) bool {
		return s.fault == f && slices.Contains(s.kinds, k) && s.to > after && s.to <= at
	})
}

// during is the spell that covers a kind, if any.
func (p *plan) during(k kind, at time.Duration) (spell, bool) {
	for _, s := range p.spells {
		if s.covers(k, at) {
			return s, true
		}
	}
	return spell{}, false
}

// chance is a fault that a single request meets.
func (p *plan) chance(at time.Duration) (fault, bool) {
	if p.noise == 0 || at >= p.ends || p.random.IntN(p.noise) != 0 {
		return "", false
	}
	return pick(p.random, tooMany, gone, internal, goAway, cut, slow), true
}

func (p *plan) String() string {
	lines := []string{fmt.Sprintf("streams %v, one of %d requests fails by chance", p.streams, p.noise)}
	for _, s := range p.spells {
		lines = append(lines, s.String())
	}
	for _, c := range p.script {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}
