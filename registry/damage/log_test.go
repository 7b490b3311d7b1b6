package damage

import "testing"

// TestSlowRereadDoesNotBlock: a disk that takes minutes for an error does not delay the health report.
func TestSlowRereadDoesNotBlock(t *testing.T) {
	var log Log
	hang := make(chan struct{})
	log.Note(Fault{Bundle: "b", Part: "p"}, func() error { <-hang; return nil })
	for range 2 {
		if found := log.Current(); len(found) != 1 {
			t.Errorf("%+v", found)
		}
	}
	close(hang)
	<-log.startReread()
	if found := log.Current(); len(found) != 0 {
		t.Errorf("after the re-read: %+v", found)
	}
}
