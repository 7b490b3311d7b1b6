package etcd

import (
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
)

// members are named a, b, c and so on; those in sick do not answer, those in
// learning have no vote.
func membersLike(n int, sick, learning string) []Member {
	var all []Member
	for i := range n {
		m := Member{ID: uint64(i), Name: string(rune('a' + i))}
		m.Learner = strings.Contains(learning, m.Name)
		if strings.Contains(sick, m.Name) {
			m.Err = errors.New("no answer")
		}
		all = append(all, m)
	}
	return all
}

func TestMayGo(t *testing.T) {
	for _, tc := range []struct {
		n              int
		sick, learning string
		may            string // members that can be removed
	}{
		{n: 1, may: ""},
		{n: 2, may: "ab"},
		{n: 2, sick: "b", may: "b"}, // etcd itself has no quorum for the removal
		{n: 3, may: "abc"},
		{n: 3, sick: "c", may: "c"},
		{n: 3, sick: "bc", may: ""},
		{n: 4, sick: "d", may: "abcd"},
		{n: 4, sick: "cd", may: "cd"},
		{n: 4, may: "abcd"},
		{n: 5, sick: "e", may: "abcde"},
		{n: 5, sick: "de", may: "de"},
		{n: 3, sick: "c", learning: "c", may: "abc"},
		{n: 2, learning: "b", may: "b"},
	} {
		all := membersLike(tc.n, tc.sick, tc.learning)
		may := ""
		for _, m := range all {
			err := CanRemove(all, m)
			if err == nil {
				may += m.Name
			} else if advice.Of(err) == "" {
				t.Errorf("%d members, %s sick: %s: no advice: %v", tc.n, tc.sick, m.Name, err)
			}
		}
		if may != tc.may {
			t.Errorf("%d members, %q sick, %q learning: %q may go, want %q", tc.n, tc.sick, tc.learning, may, tc.may)
		}
	}
}

func TestMemberOf(t *testing.T) {
	started := Member{Name: "cp1", Peers: []string{"https://10.0.0.11:2380"}}
	fresh := Member{Peers: []string{"https://10.0.0.12:2380"}}
	for _, tc := range []struct {
		m             Member
		name, address string
		want          bool
	}{
		{started, "cp1", "10.0.0.99", true},
		{started, "cp9", "10.0.0.11", true},
		{started, "cp9", "10.0.0.1", false},
		{fresh, "cp2", "10.0.0.12", true},
		{fresh, "", "", false},
		{fresh, "cp1", "10.0.0.11", false},
	} {
		if got := tc.m.Of(tc.name, tc.address); got != tc.want {
			t.Errorf("%+v of %q at %q: %v", tc.m, tc.name, tc.address, got)
		}
	}
	if got := fresh.Called(); !strings.Contains(got, "10.0.0.12") || !strings.Contains(got, "never started") {
		t.Errorf("a member without a name is called %q", got)
	}
}
