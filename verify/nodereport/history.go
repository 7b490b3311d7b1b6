package nodereport

import "reflect"

// history has the growth of counters in the last intervals. T is a struct of int64; a negative
// counter is unknown.
type history[T any] struct {
	first map[string]T   // counters at the start of the current interval
	ended map[string][]T // growth in the last intervals, the older one first
}

// kept is the number of intervals: one bad interval may be a moment, two are a state.
const kept = 2

func (h *history[T]) begin(now map[string]T) { h.first, h.ended = now, nil }

// next ends the current interval. What is new, or has started to count again, has no growth yet.
func (h *history[T]) next(now map[string]T) {
	ended := map[string][]T{}
	for name, counters := range now {
		before, known := h.first[name]
		if !known {
			continue
		}
		if grown, ok := growth(before, counters); ok {
			all := append(h.ended[name], grown)
			ended[name] = all[max(0, len(all)-kept):]
		}
	}
	h.first, h.ended = now, ended
}

func (h *history[T]) grown(name string) []T {
	if len(h.ended[name]) < kept {
		return nil
	}
	return h.ended[name]
}

// growth subtracts each counter. ok is false if one is smaller than before.
func growth[T any](before, now T) (grown T, ok bool) {
	old, present, result := reflect.ValueOf(before), reflect.ValueOf(now), reflect.ValueOf(&grown).Elem()
	for i := range result.NumField() {
		was, is := old.Field(i).Int(), present.Field(i).Int()
		switch {
		case was < 0 || is < 0: // unknown
		case is < was:
			return grown, false
		default:
			result.Field(i).SetInt(is - was)
		}
	}
	return grown, true
}
