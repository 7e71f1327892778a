// What main memory gives: the slope of a roofline, measured in the process that compares
// something with it.
#pragma once

namespace polyte::bench {

// Bytes a second, read and written, of a copy four times the last cache by so many threads;
// about 0.2 s.
double measure_bandwidth(int threads);

}  // namespace polyte::bench
