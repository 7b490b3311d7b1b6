package registry

import (
	"strconv"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	var c Config
	c.Default()
	if c.Port != DefaultPort || len(c.Validate(nil)) > 0 {
		t.Errorf("default: %+v, %v", c, c.Validate(nil))
	}
	for _, port := range []int{-1, 80, 65536} {
		if errs := (Config{Port: port}).Validate(nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), strconv.Itoa(port)) {
			t.Errorf("port %d: %v", port, errs)
		}
	}
}
