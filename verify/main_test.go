package verify

import (
	"flag"
	"testing"
)

// TestMain lets eight tests run at a time: most of them wait for a server or for time to
// pass, not for a processor.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("8") // a number is always taken
	}
	m.Run()
}
