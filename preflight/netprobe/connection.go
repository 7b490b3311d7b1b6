package netprobe

import (
	"cmp"
	"slices"
)

// States of connections that pass only in part.
const (
	// AnswersLost: the packet arrives and the other host answers, but the network loses the answer.
	AnswersLost State = "answers are lost"
	// AnswersBlocked: the answer arrives, but the sending host's own packet filter blocks it.
	AnswersBlocked State = "answers are blocked by the sender"
	// AnswersKept: the packet passes the other host's own firewall for incoming packets, but the
	// answer does not leave that host.
	AnswersKept State = "answers do not leave the host"
	// Replaced: a device answers in the host's place: no answer leaves the host.
	Replaced State = "answered by a device"
	// DataLost: a device lets the TCP handshake pass, and then drops data or closes the connection.
	DataLost State = "data is lost after the handshake"
	// TLSCloses and Inspected: plain data passes, and a device drops or resets TLS, or terminates it.
	TLSCloses State = "TLS is closed by the network"
	Inspected State = "TLS is terminated by a device"
)

const otherProgram = "another program answers"

// judgeStream judges a port with a TCP connection. An answer of the agent over TLS is sufficient,
// because the cluster uses only TLS on its ports.
func (p pair) judgeStream(plain Attempt) (State, string) {
	secure, tried := p.secure(plain.Port)
	accepted := func() bool { return p.saw(TCP, plain.Port, 0, Accepted) }
	switch {
	case tried && secure.Result == Answered:
		return Open, ""
	case p.occupied(plain.Port):
		return Open, otherProgram
	case plain.Result == Answered && tried:
		return p.judgeTLS(secure)
	case plain.Result == Answered:
		return Open, ""
	case !p.captures():
		return Open, otherProgram
	case !p.saw(TCP, plain.Port, 0, AtInterface), !p.saw(TCP, plain.Port, 0, AnswerLeft):
		return Replaced, cmp.Or(secure.Said, string(plain.Result))
	case secure.Result == OtherCertificate && accepted():
		return Inspected, secure.Said
	case plain.Result == Silent, accepted():
		return DataLost, string(plain.Result)
	default: // the host redirects the port to another program
		return Open, otherProgram
	}
}

// judgeTLS judges a port on which the agent answers a plain message, but TLS fails. A failed dial is
// the loss of some connections, and no fault of TLS.
func (p pair) judgeTLS(secure Attempt) (State, string) {
	switch {
	case secure.Result == OtherCertificate:
		return Inspected, secure.Said
	case secure.Result == Silent && (p.isNarrow() || p.reverse().isNarrow()):
		return Narrow, string(secure.Result)
	case secure.Connected() && secure.Bytes > 0:
		return DataLost, cmp.Or(secure.Said, string(secure.Result))
	case secure.Connected():
		return TLSCloses, cmp.Or(secure.Said, string(secure.Result))
	default:
		return Open, "a second connection: " + string(secure.Result)
	}
}

func (p pair) isNarrow() bool {
	v, measured := p.judgeSize()
	return measured && v.State == Narrow
}

// secure is the test of a port with TLS.
func (p pair) secure(port int) (Attempt, bool) {
	all := p.attempts(TLS)
	i := slices.IndexFunc(all, func(a Attempt) bool { return a.Port == port })
	if i < 0 {
		return Attempt{}, false
	}
	return all[i], true
}

// occupied reports whether another program on the other host has the port.
func (p pair) occupied(port int) bool {
	return p.at != nil && slices.ContainsFunc(p.at.ListenErrors, func(e ListenError) bool { return e.Kind == TCP && e.Port == port })
}

// connection writes the finding about a connection that passes only in part.
func (g group) connection(f *Finding, name string, needed bool, in Language) {
	fix := ""
	switch g.state {
	case AnswersLost:
		f.What = in.Say("%s arrives and the host answers, but the answers are lost on the way back", name)
		fix = in.Say("pass the answers back to the sender: send both directions through the same stateful firewall, or allow %s in the other direction", g.answerRule(in))
	case AnswersBlocked:
		if g.reverse {
			f.Owner, f.What = HostTeam, name+" arrives and the answer comes back, but the sending host's reverse path filter drops it: "+g.stops
			fix = reversePathFix("sending")
			break
		}
		f.Owner, f.What = HostTeam, name+" arrives and the answer comes back, but the sending host's own packet filter blocks it"
		fix = "allow answers to the host's own connections on the sending hosts (ct state established,related accept); the installation does not change that rule"
	case AnswersKept:
		f.Owner, f.What = HostTeam, name+" arrives and passes the host's firewall, but the answer does not leave the receiving host: its own packet filter blocks it, or the next hop of the way back does not answer ARP"
		fix = "on the receiving hosts, allow outgoing answers where an output chain drops them (nft list ruleset; the installation does not change that chain), and check the way back (ip route get SENDER; ip neigh)"
	case OneSided:
		f.What = in.Say("%s: a stateful firewall between the hosts sees only one direction of the connections, and drops answers or data", name)
		fix = in.Say("send both directions through the same stateful firewall, or let it pass %s, and the answers, without state", g.rule(in))
	case Replaced:
		f.What = in.Say("%s: a device between the hosts answers in the host's place, and no answer leaves the host", name)
		fix = in.Say("exclude %s between these hosts from proxies and SYN protection", g.rule(in))
	case DataLost:
		f.What = in.Say("%s: a device between the hosts lets the TCP handshake pass, and then drops data or closes the connection", name)
		fix = in.Say("exclude %s between these hosts from inspection and intrusion prevention", g.rule(in))
	case TLSCloses:
		f.What = in.Say("%s: plain data passes, but a device between the hosts drops or resets TLS", name)
		fix = in.Say("exclude %s between these hosts from TLS inspection; a ClientHello of more than one segment must pass", g.rule(in))
	case Inspected:
		f.What = in.Say("%s: a device between the hosts terminates TLS with its own certificate", name)
		fix = in.Say("exclude %s between these hosts from TLS inspection; a ClientHello of more than one segment must pass", g.rule(in))
	}
	if needed {
		f.Fix = fix
	}
}

// answerRule is the firewall rule that allows the answers.
func (g group) answerRule(in Language) string {
	switch g.kind {
	case TCP:
		return in.Say("TCP from port %d", g.port)
	case UDP:
		return in.Say("UDP from port %d", g.port)
	default: // both directions of a VXLAN use the same destination port
		return g.rule(in)
	}
}
