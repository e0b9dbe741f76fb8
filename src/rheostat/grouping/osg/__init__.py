"""OSG, online shuffle grouping (DABS-Storm §5.2): tasks learn costs by value, schedulers balance the load by them."""
