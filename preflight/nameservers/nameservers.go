// Package nameservers asks the site's name servers from this host, before a cluster exists: whether
// each one answers by UDP and by TCP, which addresses it has for the names of airgap.yaml, and
// whether it has an address for every name of a search domain.
//
// It sends a few packets to the servers of resolv.conf and to no other host, and changes nothing.
package nameservers

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"

	"airgap.dev/airgap/preflight/facts"
)

// Limits for the input, which is a file of the host. The resolver uses three servers and, in old
// releases, six search domains.
const (
	maxServers = 6
	maxSearch  = 8
	maxNames   = 16
	port       = 53
)

// Query has the names to ask for.
type Query struct {
	Servers []string // addresses, as in resolv.conf
	Search  []string
	Names   []string // names to look up; addresses are left out
}

// Ask asks all servers in parallel. It takes up to ten seconds if one does not answer.
func Ask(ctx context.Context, q Query) facts.NameAnswers { return ask(ctx, q, port) }

func ask(ctx context.Context, q Query, port uint16) facts.NameAnswers {
	result := facts.NameAnswers{Outcome: facts.OutcomeOf(nil)}
	servers := addresses(q.Servers)
	names := q.names()
	result.Servers = make([]facts.NameServer, len(servers))
	found := make([][]facts.Wildcard, len(servers)) // servers can have different zones
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			at := netip.AddrPortFrom(server, port)
			result.Servers[i] = askServer(ctx, at, q.Search, names)
			if result.Servers[i].UDP == "" && !result.Servers[i].Refuses {
				found[i] = wildcards(ctx, at, q.Search)
			}
		})
	}
	all.Wait()
	result.Wildcards = slices.Concat(found...)
	if err := ctx.Err(); err != nil {
		result.Outcome = facts.OutcomeOf(err)
	}
	return result
}

func addresses(servers []string) []netip.Addr {
	var found []netip.Addr
	for _, text := range servers {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(found, a) && len(found) < maxServers {
			found = append(found, a)
		}
	}
	return found
}

// names are the names to look up.
func (q Query) names() []string {
	var found []string
	for _, name := range q.Names {
		if _, err := netip.ParseAddr(name); err != nil && name != "" && !slices.Contains(found, name) && len(found) < maxNames {
			found = append(found, name)
		}
	}
	return found
}

// absolute are the names that the resolver asks for: a name without a dot is in a search domain.
func absolute(name string, search []string) []string {
	if strings.HasSuffix(name, ".") || strings.Contains(name, ".") || len(search) == 0 {
		return []string{name}
	}
	var all []string
	for _, domain := range search[:min(len(search), maxSearch)] {
		all = append(all, name+"."+domain)
	}
	return all
}

// local has a name that every common server answers from its own data, also without a connection to
// others: RFC 6303 wants this zone on every resolver.
const local = "1.0.0.127.in-addr.arpa"

func askServer(ctx context.Context, server netip.AddrPort, search, names []string) facts.NameServer {
	found := facts.NameServer{Address: server.Addr().String(), Names: map[string][]netip.Addr{}}
	questions := []dnsmessage.Question{}
	add := func(name string, kind dnsmessage.Type) bool {
		parsed, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
		if err == nil {
			questions = append(questions, dnsmessage.Question{Name: parsed, Type: kind, Class: dnsmessage.ClassINET})
		}
		return err == nil
	}
	add(local, dnsmessage.TypePTR)
	if len(search) > 0 {
		add(search[0], dnsmessage.TypeSOA)
	}
	general := len(questions)
	var of []string // the name of each following question
	for _, name := range names {
		for _, full := range absolute(name, search) {
			if add(full, dnsmessage.TypeA) {
				of = append(of, name)
			}
		}
	}
	var both sync.WaitGroup
	var answers map[int]answer
	both.Go(func() {
		var err error
		if answers, err = askUDP(ctx, server, questions); len(answers) == 0 {
			found.UDP = cmp.Or(reason(err), noAnswer)
		}
	})
	both.Go(func() {
		if err := askTCP(ctx, server, questions); err != nil {
			found.TCP = reason(err)
		}
	})
	both.Wait()
	found.Refuses = len(answers) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(answers)), func(a answer) bool { return a.code != dnsmessage.RCodeRefused })
	for i, name := range of {
		if a, answered := answers[general+i]; answered && a.final() {
			found.Names[name] = append(found.Names[name], a.addresses...)
		}
	}
	return found
}

// wildcards returns the search domains in which two random names have an address.
func wildcards(ctx context.Context, server netip.AddrPort, search []string) []facts.Wildcard {
	const each = 2
	var questions []dnsmessage.Question
	var domains []string
	for _, domain := range search[:min(len(search), maxSearch)] {
		for range each {
			name, err := dnsmessage.NewName("airgap-" + strings.ToLower(rand.Text()) + "." + strings.TrimSuffix(domain, ".") + ".")
			if err != nil {
				break
			}
			questions, domains = append(questions, dnsmessage.Question{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}), append(domains, domain)
		}
	}
	if len(questions) == 0 {
		return nil
	}
	answers, _ := askUDP(ctx, server, questions) // a lost answer is no wildcard
	var found []facts.Wildcard
	for i := 0; i+1 < len(questions); i += each {
		one, two := answers[i].addresses, answers[i+1].addresses
		if len(one) > 0 && len(two) > 0 {
			found = append(found, facts.Wildcard{Domain: domains[i], Server: server.Addr().String(), Address: one[0]})
		}
	}
	return found
}
