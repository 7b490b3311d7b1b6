package facts

import (
	"reflect"
	"testing"
)

// TestRoutesWithoutKey: ip of Enterprise Linux 8 prints the type of a route without a key, which is
// no JSON (iproute2#37).
func TestRoutesWithoutKey(t *testing.T) {
	routes, err := parseRoutes(`[{"unreachable","dst":"::/96","dev":"lo","metric":1024,"flags":[]},
{ "blackhole", "dst":"10.244.1.0/26","protocol":"80","flags":[]},
{"dst":"fe80::/64","dev":"ens192","flags":[]},{},{"type":"unreachable","dst":"2002:a00::/24"}]`, true)
	var to []string
	for _, r := range routes {
		to = append(to, r.To.String())
	}
	if err != nil || !reflect.DeepEqual(to, []string{"::/96", "10.244.1.0/26", "fe80::/64", "2002:a00::/24"}) {
		t.Errorf("%v, %v", to, err)
	}
}
