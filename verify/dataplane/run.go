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

// Self is the pod of this process.
type Self struct {
	Pod  string // name
	Node string
	Host string // the node's address

	HostPort uint16 // that its node redirects to the pod; 0 without one
}

// Options of a pod's program.
type Options struct {
	Self Self
	API  *API         // with the pod's ServiceAccount
	Say  func(string) // logs a line for each change
	Etcd Etcd
}

const (
	minPause  = 10 * time.Second       // between two rounds, in a cluster of up to 100 nodes
	perPeer   = 100 * time.Millisecond // pause for each node in a larger cluster
	stale     = time.Minute            // without a confirmed result for this time and three rounds, the pod is not ready
	callers   = 256                    // connections at the same time; more wait
	perCaller = 64                     // connections from one address, which many pods share with a NodePort; more are refused
	drain     = 3 * time.Second        // time until the Service no longer sends requests to a pod that stops
)

// prober periodically tries the pod network.
type prober struct {
	caller
	options Options
	service reached
	peers   []peer               // last list, without this node
	nodes   atomic.Int64         // number of peers
	next    int                  // index in the ring of peers
	tried   map[string][]Failure // last result of each peer, by node
	paths   *paths

	judged    bool      // a round is complete
	text      string    // its message
	since     time.Time // start of the condition's status
	written   bool      // the API server has the message
	confirmed confirmed
}

// confirmed has the last time at which the API server had the current result or a later round made
// progress, and the error of the last write.
type confirmed struct {
	mu   sync.Mutex
	last time.Time
	err  error
}

// Run answers other pods and tries the network until ctx ends.
func Run(ctx context.Context, o Options) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", fmt.Sprintf(":%d", Port))
	if err != nil {
		return fmt.Errorf("listen for other pods: %w", err)
	}
	server, err := listenPaths(ctx, fmt.Sprintf(":%d", PathPort))
	if err != nil {
		return fmt.Errorf("listen for measurements: %w", err)
	}
	p := &prober{caller: newCaller(), options: o, tried: map[string][]Failure{}, paths: newPaths(o.Say)}
	p.paths.self, p.paths.etcd = o.Self.Node, o.Etcd
	p.confirm(nil) // the time starts before the first round
	web := &http.Server{
		Handler: answer(o.Self, p.ready), MaxHeaderBytes: 8 << 10,
		ReadHeaderTimeout: callLimit, ReadTimeout: 2 * callLimit, WriteTimeout: 2 * callLimit, IdleTimeout: callLimit,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return web.Serve(listen.PerAddress(netutil.LimitListener(listener, callers), perCaller, nil))
	})
	group.Go(func() error { return server.run(ctx) })
	group.Go(func() error {
		p.run(ctx)
		time.Sleep(drain)
		return web.Close()
	})
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer other pods: %w", err)
	}
	return nil
}

// run runs rounds and publishes their results.
func (p *prober) run(ctx context.Context) {
	for ctx.Err() == nil {
		failures := p.round(ctx)
		if ctx.Err() != nil {
			return
		}
		p.publish(ctx, failures)
		select {
		case <-ctx.Done():
		case <-time.After(p.pause() + rand.N(p.pause()/5)): //nolint:gosec // so that the pods do not send requests at the same time
		}
	}
}

func (p *prober) pause() time.Duration {
	return max(minPause, time.Duration(len(p.peers))*perPeer)
}

// publish logs and writes a changed result. After an error, it retries after the next round.
func (p *prober) publish(ctx context.Context, failures []Failure) {
	text := message(failures)
	if !p.judged || text != p.text {
		if !p.judged || (text == "") != (p.text == "") {
			p.since = time.Now()
		}
		p.say(failures)
		p.judged, p.text, p.written = true, text, false
	}
	if p.written {
		p.confirm(nil)
		return
	}
	err := p.options.API.writeCondition(ctx, p.options.Self.Pod, failures, p.since)
	if err != nil {
		p.options.Say(err.Error())
	}
	p.written = err == nil
	p.confirm(err)
}

func (p *prober) say(failures []Failure) {
	if len(failures) == 0 {
		p.options.Say("all targets answer")
	}
	for _, f := range failures {
		p.options.Say(f.Target + ": " + f.Saw)
	}
}

func (p *prober) confirm(err error) {
	p.confirmed.mu.Lock()
	defer p.confirmed.mu.Unlock()
	if p.confirmed.err = err; err == nil {
		p.confirmed.last = time.Now()
	}
}

// progress confirms the published result during a round. A round takes minutes if many nodes do
// not answer, and the pod must stay ready. It does not apply after a failed write.
func (p *prober) progress() {
	p.confirmed.mu.Lock()
	defer p.confirmed.mu.Unlock()
	if p.confirmed.err == nil && !p.confirmed.last.IsZero() {
		p.confirmed.last = time.Now()
	}
}

// ready returns an error if the pod's condition may be outdated.
func (p *prober) ready() error {
	p.confirmed.mu.Lock()
	defer p.confirmed.mu.Unlock()
	if ago := time.Since(p.confirmed.last); ago > stale+3*time.Duration(p.nodes.Load())*perPeer {
		return errors.Join(fmt.Errorf("the condition was last confirmed %s ago", ago.Round(time.Second)), p.confirmed.err)
	}
	return nil
}
