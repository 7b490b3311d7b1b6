// Package destinations lists the hosts and ports that a bundle is downloaded from, for the request to the
// firewall or proxy team.
//
// It records the requests of a client. Only the answers name the other hosts: redirects to object storage,
// token services, mirrors in lists, addresses in the index of a chart repository.
package destinations

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

// List is the output of airgap bundle --plan --hosts.
type List struct {
	Destinations []Destination `json:"destinations"`
	// Incomplete says why hosts may be missing: a host that does not answer names no others.
	Incomplete []string `json:"incomplete,omitempty"`
}

// Destination is a host and port, with the reasons to ask it.
type Destination struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"` // https or http
	// For lists the contents that come from there, sorted: "image registry.k8s.io/pause:3.10".
	For []string `json:"for"`
	// RedirectedBy lists the HOST:PORTs whose answers lead here; none for a host that airgap asks itself.
	RedirectedBy []string `json:"redirectedBy,omitempty"`
	Tokens       bool     `json:"tokens,omitempty"`  // it issues the tokens of a registry
	Setting      string   `json:"setting"`           // the setting of airgap.yaml that replaces the host
	Proxy        string   `json:"proxy,omitempty"`   // HOST:PORT of the proxy between; "" for a direct connection
	Failure      string   `json:"failure,omitempty"` // why it gave no answer; "" if it did
}

// Recorder collects the requests of a client. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	asked map[string]*record // by scheme://HOST:PORT
}

type record struct {
	Destination

	purposes, from, settings map[string]bool
	answered                 bool
}

// See is the argument of fetch.Client.Watch.
func (r *Recorder) See(a fetch.Asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	port := portOf(a.URL)
	key := a.URL.Scheme + "://" + hostPort(a.URL)
	one := r.asked[key]
	if one == nil {
		one = &record{purposes: map[string]bool{}, from: map[string]bool{}, settings: map[string]bool{}}
		one.Host, one.Port, one.Protocol = strings.ToLower(a.URL.Hostname()), port, a.URL.Scheme
		if r.asked == nil {
			r.asked = map[string]*record{}
		}
		r.asked[key] = one
	}
	if a.Purpose != "" {
		one.purposes[a.Purpose] = true
	}
	if a.From != nil && hostPort(a.From) != hostPort(a.URL) {
		one.from[hostPort(a.From)] = true
	}
	one.settings[settingOf(a)] = true
	one.Tokens = one.Tokens || isToken(a)
	if a.Proxy != nil {
		one.Proxy = hostPort(a.Proxy)
	}
	if a.Err == nil {
		one.answered = true
	} else {
		one.Failure = a.Err.Error()
	}
}

// List returns the recorded hosts. failed, nil if the plan was made, says why hosts may be missing.
func (r *Recorder) List(s fetch.Sources, failed error) *List {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := &List{Destinations: []Destination{}}
	for _, one := range r.asked {
		d := one.Destination
		d.For, d.RedirectedBy = slices.Sorted(maps.Keys(one.purposes)), slices.Sorted(maps.Keys(one.from))
		d.Setting = strings.Join(slices.Sorted(maps.Keys(one.settings)), "; ")
		if mirror := mirrorAt(s, d.Host, d.Port); mirror != "" {
			d.Setting = mirror
		}
		if one.answered {
			d.Failure = ""
		} else {
			list.Incomplete = append(list.Incomplete, fmt.Sprintf("%s did not answer, so the hosts that its answers name are unknown", address(d)))
		}
		list.Destinations = append(list.Destinations, d)
	}
	slices.SortFunc(list.Destinations, func(a, b Destination) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	slices.Sort(list.Incomplete)
	if failed != nil {
		list.Incomplete = append(list.Incomplete, "the plan failed, so later requests are unknown")
	}
	return list
}

// Write prints the list for people.
func (l *List) Write(w io.Writer) error {
	for _, d := range l.Destinations {
		via := ""
		if d.Proxy != "" {
			via = ", through the proxy " + d.Proxy
		}
		fmt.Fprintf(w, "%s  %s%s\n", address(d), d.Protocol, via)
		for _, from := range d.RedirectedBy {
			fmt.Fprintf(w, "    redirect from %s\n", from)
		}
		if d.Tokens {
			fmt.Fprint(w, "    issues the tokens of a registry\n")
		}
		const shown = 3
		for _, purpose := range d.For[:min(len(d.For), shown)] {
			fmt.Fprintf(w, "    for %s\n", purpose)
		}
		if more := len(d.For) - shown; more > 0 {
			fmt.Fprintf(w, "    and for %d more\n", more)
		}
		fmt.Fprintf(w, "    moved by: %s\n", d.Setting)
		if d.Failure != "" {
			fmt.Fprintf(w, "    no answer: %s\n", d.Failure)
		}
	}
	for _, why := range l.Incomplete {
		fmt.Fprintf(w, "incomplete: %s\n", why)
	}
	_, err := fmt.Fprintf(w, "%s; object storage and mirrors can change with the day and the place: ask for them by domain, or set a mirror\n",
		ui.Count(len(l.Destinations), "destination"))
	return err
}

func address(d Destination) string { return join(d.Host, d.Port) }

func join(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

func hostPort(u *url.URL) string { return join(strings.ToLower(u.Hostname()), portOf(u)) }

func portOf(u *url.URL) int {
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}
