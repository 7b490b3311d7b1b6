package verify

import (
	"flag"
	"testing"
)

// TestMain runs eight tests in parallel: most of them wait for a server or for time, not for a
// processor.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("8") // a number is always valid
	}
	m.Run()
}
