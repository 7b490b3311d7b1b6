package netprobe

// OneSided: a stateful firewall on the way of one direction drops the answers to connections that it
// did not see begin. In the other direction it sees the beginning, but not the answer, and drops the
// data behind the handshake (RFC 9293, section 3.5: it needs all three steps).
const OneSided State = "a firewall sees one direction"

// markOneSided gives the two results of such a firewall one name.
func (m *Matrix) markOneSided() {
	answers, data := map[[2]int]bool{}, map[[2]int]bool{}
	for _, v := range m.Verdicts {
		way := [2]int{v.From, v.To}
		answers[way] = answers[way] || v.Kind == TCP && v.State == AnswersLost
		data[way] = data[way] || v.Kind == TCP && v.State == DataLost
	}
	for i, v := range m.Verdicts {
		back := [2]int{v.To, v.From}
		if v.Kind == TCP && (v.State == AnswersLost && data[back] || v.State == DataLost && answers[back]) {
			m.Verdicts[i].State = OneSided
		}
	}
}
