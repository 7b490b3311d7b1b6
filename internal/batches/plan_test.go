package batches_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/internal/batches"
)

// hostsOf reads hosts: "w1 w2@r1 g1*": @ is the rack, and * marks a host with GPUs.
func hostsOf(text string) []batches.Host {
	var all []batches.Host
	for word := range strings.FieldsSeq(text) {
		name, gpu := strings.CutSuffix(word, "*")
		name, rack, _ := strings.Cut(name, "@")
		all = append(all, batches.Host{Name: name, Rack: rack, GPU: gpu})
	}
	return all
}

func shown(all []batches.Batch) string {
	var words []string
	for _, b := range all {
		word := strings.Join(b.Hosts, "+")
		if b.Canary {
			word += "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		hosts  string
		policy batches.Policy
		want   string
	}{
		"no worker":                     {"", batches.Policy{Size: 3}, ""},
		"one by one":                    {"w1 w2 w3", batches.Policy{Size: 1}, "w1! w2 w3"},
		"no size":                       {"w1 w2", batches.Policy{}, "w1! w2"},
		"the first is alone":            {"w1 w2 w3 w4 w5 w6", batches.Policy{Size: 2}, "w1! w2+w3 w4+w5 w6"},
		"one was changed before":        {"w2 w3 w4 w5", batches.Policy{Size: 2, Proved: true}, "w2+w3 w4+w5"},
		"larger than all":               {"w1 w2 w3", batches.Policy{Size: 10}, "w1! w2+w3"},
		"GPUs are last":                 {"g1* w1 g2* w2 g3*", batches.Policy{Size: 2}, "w1! w2 g1! g2+g3"},
		"one with GPUs was changed":     {"g1* w1 g2* w2", batches.Policy{Size: 2, ProvedGPU: true}, "w1! w2 g1+g2"},
		"all kinds were changed":        {"g1* w1 g2* w2", batches.Policy{Size: 2, Proved: true, ProvedGPU: true}, "w1+w2 g1+g2"},
		"only GPUs":                     {"g1* g2* g3*", batches.Policy{Size: 5}, "g1! g2+g3"},
		"racks do not matter":           {"w1@a w2@b w3@a w4@b", batches.Policy{Size: 3}, "w1! w2+w3+w4"},
		"by rack":                       {"w1@a w2@b w3@a w4@b w5@a", batches.Policy{Size: 3, ByRack: true}, "w1! w3+w5 w2+w4"},
		"by rack, in parts of the rack": {"w1@a w2@a w3@a w4@a w5@b w6@b", batches.Policy{Size: 2, ByRack: true}, "w1! w2+w3 w4 w5+w6"},
		"by rack, with GPUs":            {"w1@a g1@a* w2@b g2@b* w3@a g3@b*", batches.Policy{Size: 9, ByRack: true, Proved: true}, "w1+w3 w2 g1! g2+g3"},
	} {
		t.Run(name, func(t *testing.T) {
			got := batches.Plan(hostsOf(tc.hosts), tc.policy)
			assert.Equal(t, tc.want, shown(got))
			assert.Len(t, batches.Names(got), len(hostsOf(tc.hosts)))
		})
	}
}

// TestFirst: a run with --hosts has the first batches, and a part of the last one.
func TestFirst(t *testing.T) {
	for hosts, want := range map[int]string{0: "", 1: "w1!", 2: "w1! w2", 3: "w1! w2+w3", 4: "w1! w2+w3 w4", 9: "w1! w2+w3 w4+w5"} {
		all := batches.Plan(hostsOf("w1 w2 w3 w4 w5"), batches.Policy{Size: 2})
		assert.Equal(t, want, shown(batches.First(all, hosts)), hosts)
		assert.Equal(t, "w1! w2+w3 w4+w5", shown(all), "the plan changed")
	}
}

// TestPlanOfALargeFleet: 300 workers at 10% are eleven batches and a canary.
func TestPlanOfALargeFleet(t *testing.T) {
	var hosts []batches.Host
	for i := range 300 {
		hosts = append(hosts, batches.Host{Name: fmt.Sprintf("w%03d", i)})
	}
	size, err := batches.Size("10%").Of(len(hosts))
	assert.NoError(t, err)
	all := batches.Plan(hosts, batches.Policy{Size: size})
	assert.Len(t, all, 11)
	for i, b := range all {
		assert.Equal(t, i == 0, b.Canary)
		assert.LessOrEqual(t, len(b.Hosts), 30)
	}
}
