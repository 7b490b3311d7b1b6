package nodereport

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOtherTimes: a member with other times than airgap set, or than most members, is named. Equal members,
// and members without times, are not.
func TestOtherTimes(t *testing.T) {
	usual, far, odd := &EtcdTimes{100, 1000}, &EtcdTimes{150, 1500}, &EtcdTimes{500, 5000}
	member := func(times, wanted *EtcdTimes) *Etcd { return &Etcd{Times: times, Wanted: wanted} }
	const wantFar, likeA = "heartbeat interval 150 ms, election timeout 1500 ms, as airgap set", "heartbeat interval 100 ms, election timeout 1000 ms, as on a"
	const wantUsual = "heartbeat interval 100 ms, election timeout 1000 ms, as airgap set"
	for name, test := range map[string]struct {
		members map[string]*Etcd
		want    map[string]string
	}{
		"none":                   {nil, nil},
		"of an older airgap":     {map[string]*Etcd{"a": member(nil, nil), "b": member(nil, nil)}, nil},
		"equal":                  {map[string]*Etcd{"a": member(far, far), "b": member(far, far), "c": member(far, nil)}, nil},
		"one is other":           {map[string]*Etcd{"a": member(far, far), "b": member(odd, far), "c": member(far, far)}, map[string]string{"b": wantFar}},
		"two are other":          {map[string]*Etcd{"a": member(odd, far), "b": member(odd, far), "c": member(far, far)}, map[string]string{"a": wantFar, "b": wantFar}},
		"the only one":           {map[string]*Etcd{"a": member(odd, far)}, map[string]string{"a": wantFar}},
		"an upgrade changes one": {map[string]*Etcd{"a": member(usual, usual), "b": member(usual, usual), "c": member(far, far)}, nil},
		"etcd still runs":        {map[string]*Etcd{"a": member(usual, usual), "b": member(usual, usual), "c": member(usual, far)}, nil},
		"odd in an upgrade":      {map[string]*Etcd{"a": member(usual, usual), "b": member(odd, usual), "c": member(far, far)}, map[string]string{"b": wantUsual, "c": likeA}},
		"nothing set by airgap":  {map[string]*Etcd{"a": member(usual, nil), "b": member(odd, nil)}, map[string]string{"b": likeA}},
		"a value etcd refuses":   {map[string]*Etcd{"a": member(usual, usual), "b": member(&EtcdTimes{0, 1000}, usual)}, map[string]string{"b": wantUsual}},
		"one does not know them": {map[string]*Etcd{"a": member(usual, usual), "b": member(nil, usual)}, nil},
	} {
		got := map[string]string{}
		for _, o := range OtherTimesOf(test.members) {
			got[o.Host] = o.Want
			assert.Contains(t, o.Fix, "on "+o.Host+": in /etc/kubernetes/manifests/etcd.yaml")
		}
		if test.want == nil {
			test.want = map[string]string{}
		}
		assert.Equal(t, test.want, got, name)
	}
}
