from lanewise._core import Forall

add_chosen: Forall
add_weights: Forall
bin_of: Forall
chosen_elements: Forall
convolve: Forall
count: Forall
count_chosen: Forall
interpolate: Forall
medians: Forall
quantiles: Forall
search: Forall
