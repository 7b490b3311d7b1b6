package dataplane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/internal/listen"
)

// Self is the pod that tries.
type Self struct {
	Pod  string // its name
	Node string
	Host string // the node's address
}

// Options of a pod's program.
type Options struct {
	Self Self
	API  *API         // with the pod's own account
	Say  func(string) // when something changes, in a line
}

const (
	often     = 10 * time.Second       // between two rounds, in a cluster of up to 100 nodes
	perPeer   = 100 * time.Millisecond // in a larger one, for each node
	stale     = time.Minute            // after this and three rounds without a word the pod is not ready
	callers   = 256                    // at the same time; more wait
	perCaller = 64                     // of those from one address, which a NodePort makes of many pods; more are refused
	drain     = 3 * time.Second        // callers learn in this time that the pod goes
)

// prober is a pod that tries all day.
type prober struct {
	caller
	options Options
	service reached
	peers   []peer               // as last seen, without this node
	nodes   atomic.Int64         // how many those are
	next    int                  // place in the ring of peers
	tried   map[string][]Failure // last result of each peer that was tried, by node

	judged  bool      // there was a round
	text    string    // what it found
	since   time.Time // when that began to be good or bad
	written bool      // the API server has it
	heard   heard
}

// heard is when the API server last had what the pod knew, or a round that came after
// that moved on, and why the API server has not had it since.
type heard struct {
	mu   sync.Mutex
	last time.Time
	err  error
}

// Run answers other pods and tries the network until ctx ends.
func Run(ctx context.Context, o Options) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", fmt.Sprintf(":%d", Port))
	if err != nil {
		return fmt.Errorf("wait for other pods: %w", err)
	}
	p := &prober{caller: newCaller(), options: o, tried: map[string][]Failure{}}
	p.told(nil) // there is time for the first round
	server := &http.Server{
		Handler: answer(o.Self, p.ready), MaxHeaderBytes: 8 << 10,
		ReadHeaderTimeout: callLimit, ReadTimeout: 2 * callLimit, WriteTimeout: 2 * callLimit, IdleTimeout: callLimit,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return server.Serve(listen.PerAddress(netutil.LimitListener(listener, callers), perCaller, nil))
	})
	group.Go(func() error {
		p.run(ctx)
		time.Sleep(drain)
		return server.Close()
	})
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer other pods: %w", err)
	}
	return nil
}

// run makes rounds, and tells what they found.
func (p *prober) run(ctx context.Context) {
	for ctx.Err() == nil {
		failures := p.round(ctx)
		if ctx.Err() != nil {
			return
		}
		p.tell(ctx, failures)
		select {
		case <-ctx.Done():
		case <-time.After(p.pause() + rand.N(p.pause()/5)): //nolint:gosec // so that the pods do not ask all at once
		}
	}
}

func (p *prober) pause() time.Duration {
	return max(often, time.Duration(len(p.peers))*perPeer)
}

// tell writes down what has changed. What could not be written is tried again
// after the next round.
func (p *prober) tell(ctx context.Context, failures []Failure) {
	text := message(failures)
	if !p.judged || text != p.text {
		if !p.judged || (text == "") != (p.text == "") {
			p.since = time.Now()
		}
		p.say(failures)
		p.judged, p.text, p.written = true, text, false
	}
	if p.written {
		p.told(nil)
		return
	}
	err := p.options.API.tell(ctx, p.options.Self.Pod, failures, p.since)
	if err != nil {
		p.options.Say(err.Error())
	}
	p.written = err == nil
	p.told(err)
}

func (p *prober) say(failures []Failure) {
	if len(failures) == 0 {
		p.options.Say("everything answers")
	}
	for _, f := range failures {
		p.options.Say(f.Target + ": " + f.Saw)
	}
}

func (p *prober) told(err error) {
	p.heard.mu.Lock()
	defer p.heard.mu.Unlock()
	if p.heard.err = err; err == nil {
		p.heard.last = time.Now()
	}
}

// goesOn: what was told is being looked at again. A round takes minutes where many nodes
// do not answer, and who says so has to stay ready. Of a pod that has told nothing yet
// nobody knows anything.
func (p *prober) goesOn() {
	p.heard.mu.Lock()
	defer p.heard.mu.Unlock()
	if p.heard.err == nil && !p.heard.last.IsZero() {
		p.heard.last = time.Now()
	}
}

// ready says whether the pod's condition can be believed.
func (p *prober) ready() error {
	p.heard.mu.Lock()
	defer p.heard.mu.Unlock()
	if ago := time.Since(p.heard.last); ago > stale+3*time.Duration(p.nodes.Load())*perPeer {
		return errors.Join(fmt.Errorf("the cluster was last told %s ago", ago.Round(time.Second)), p.heard.err)
	}
	return nil
}
