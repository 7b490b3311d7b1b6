package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

// filed returns surveys in the files 1.survey, 2.survey and so on.
func filed(all []*facts.Facts) (surveys []survey) {
	for i, f := range all {
		surveys = append(surveys, survey{fmt.Sprintf("dir/%d.survey", i+1), f})
	}
	return surveys
}

func TestSharedIdentities(t *testing.T) {
	of := func(name, id, uuid, mac, ip string) *facts.Facts {
		f := &facts.Facts{Host: name, Identity: facts.Identity{MachineID: id, ProductUUID: uuid}}
		if ip != "" {
			f.Links = []facts.Link{{Name: "lo", Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}}, {Name: "ens1", MAC: mac, Addresses: []netip.Prefix{netip.MustParsePrefix(ip)}},
				{Name: "virbr0", MAC: "52:54:00:00:00:01", Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.122.1/24")}}}
		}
		return f
	}
	for _, test := range []struct {
		name string
		all  []*facts.Facts
		want []string
	}{
		{"none", nil, nil},
		{"different", []*facts.Facts{of("a", "1", "x", "02:00:00:00:00:01", "10.0.0.1/24"), of("b", "2", "y", "02:00:00:00:00:02", "10.0.0.2/24")}, nil},
		{"clones", []*facts.Facts{of("a", "1", "x", "", ""), of("b", "1", "X", "", ""), of("c", "2", "y", "", "")},
			[]string{"a (1.survey) and b (2.survey) have the same machine-id 1", "a (1.survey) and b (2.survey) have the same product_uuid x"}},
		{"one server twice", []*facts.Facts{of("a", "1", "", "", ""), of("a", "1", "", "", "")},
			[]string{"a (1.survey) and a (2.survey) have the same host name a", "a (1.survey) and a (2.survey) have the same machine-id 1"}},
		{"one name", []*facts.Facts{of("A", "1", "x", "", ""), of("a", "2", "y", "", "")}, []string{"A (1.survey) and a (2.survey) have the same host name a"}},
		{"one address", []*facts.Facts{of("a", "1", "", "02:AA:00:00:00:01", "10.0.0.1/24"), of("b", "2", "", "02:aa:00:00:00:01", "10.0.0.1/16")},
			[]string{"a (1.survey) and b (2.survey) have the same MAC address 02:aa:00:00:00:01", "a (1.survey) and b (2.survey) have the same IP address 10.0.0.1"}},
		{"a vendor's UUID", []*facts.Facts{of("a", "1", "03000200-0400-0500-0006-000700080009", "", ""), of("b", "2", "03000200-0400-0500-0006-000700080009", "", "")}, nil},
		{"nothing known", []*facts.Facts{of("a", "", "", "", ""), of("b", "", "", "", "")}, nil},
	} {
		if got := sharedIdentities(filed(test.all)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
